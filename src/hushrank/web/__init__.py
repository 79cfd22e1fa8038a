"""The on-device recommender: one page with a private model inside, which computes a visitor's recommendations itself."""
