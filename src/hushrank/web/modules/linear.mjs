/** Small symmetric systems of equations. A matrix is a Float64Array, row by row. */

/** Add weight * w w^T to the lower triangle of A, for the row of W that begins at `start`. */
export function addOuter(A, W, start, width, weight = 1) {
  for (let a = 0; a < width; a++) {
    const x = weight * W[start + a];
    for (let b = 0; b <= a; b++) A[a * width + b] += x * W[start + b];
  }
}

/** The Cholesky factor of a matrix, of which the lower triangle is read; null if it is not positive definite. */
export function factorize(A, width) {
  const L = new Float64Array(width * width);
  for (let b = 0; b < width; b++) {
    let value = A[b * width + b];
    for (let c = 0; c < b; c++) value -= L[b * width + c] ** 2;
    if (!(value > 0)) return null;
    const pivot = Math.sqrt(value);
    L[b * width + b] = pivot;
    for (let a = b + 1; a < width; a++) {
      let entry = A[a * width + b];
      for (let c = 0; c < b; c++) entry -= L[a * width + c] * L[b * width + c];
      L[a * width + b] = entry / pivot;
    }
  }
  return L;
}

/** The solution z of L L^T z = x. */
export function solve(L, width, x) {
  const z = Float64Array.from(x);
  for (let a = 0; a < width; a++) {
    for (let c = 0; c < a; c++) z[a] -= L[a * width + c] * z[c];
    z[a] /= L[a * width + a];
  }
  for (let a = width - 1; a >= 0; a--) {
    for (let c = a + 1; c < width; c++) z[a] -= L[c * width + a] * z[c];
    z[a] /= L[a * width + a];
  }
  return z;
}
