"""The only place where noise is drawn.

A release calls `NoiseSource.begin(event)`, which logs the event and hands out a fresh key stream; everything random is
made from the words of that stream:

- `keystream`, `source`: AES-256-CTR words, one key per release;
- `intervals`, `lazy`, `laws`, `reference`: exact laws in integer arithmetic, the slow path that decides everything;
- `kernels`, `deviates`: the fast path, equal to the slow one bit for bit;
- `extensible`, `linear`, `bilinear`: forms in exact deviates, rounded exactly together with the data;
- `continuous`: floating-point uniforms, phases and normals for the orbit samplers (numerics "idealized").
"""
