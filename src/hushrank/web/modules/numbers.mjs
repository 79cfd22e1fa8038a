/** Numbers out of the model: base64 to bytes, bytes to floats, codes to columns. All results are in double precision. */

/** The bytes that a base64 text stands for. */
export function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Little-endian 32-bit floats. */
export function float32s(base64) {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/** Little-endian 16-bit integers without sign. */
export function uint16s(base64) {
  const bytes = bytesOf(base64);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, i) => bytes[2 * i] | (bytes[2 * i + 1] << 8));
}

/** The number of a half-precision pattern of bits. */
export function float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * The matrix, row by row, of codes times the scale of their column.
 *
 * `block` has the base64 text `codes`, its `precision` "float16" or "int8", and a list of `scales`.
 */
export function columnsOf(block) {
  const bytes = bytesOf(block.codes);
  const scales = block.scales;
  const width = scales.length;
  if (block.precision === "int8") {
    const codes = new Int8Array(bytes.buffer);
    return Float64Array.from(codes, (code, i) => code * scales[i % width]);
  }
  const table = Float64Array.from({ length: 65536 }, (_, bits) => float16(bits));
  const values = new Float64Array(bytes.length / 2);
  for (let i = 0; i < values.length; i++) values[i] = table[bytes[2 * i] | (bytes[2 * i + 1] << 8)] * scales[i % width];
  return values;
}
