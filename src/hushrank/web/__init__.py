"""The on-device recommender: one page with a private model inside, which recommends on its own."""
