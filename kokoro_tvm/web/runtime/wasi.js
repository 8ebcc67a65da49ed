/** Host functions of a C library without files: a clock, and lines for the log. */

const SUCCESS = 0;
const BAD_FILE = 8;
const STANDARD_ERROR = 2;

/**
 * Return the imports `wasi_snapshot_preview1`.
 * @param {() => WebAssembly.Memory} memory
 * @param {(line: string) => void} log what the code prints, line by line
 */
export function wasi(memory, log) {
  const view = () => new DataView(memory().buffer);
  const pending = new Map();
  const write = (file, bytes) => {
    const lines = ((pending.get(file) ?? '') + new TextDecoder().decode(bytes)).split('\n');
    pending.set(file, lines.pop());
    lines.forEach(log);
  };
  const refuse = () => BAD_FILE;
  return {
    clock_time_get(clock, precision, out) {
      const now = clock === 0 ? Date.now() : performance.now();
      view().setBigUint64(out, BigInt(Math.round(now * 1e6)), true);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return SUCCESS;
    },
    fd_close: refuse,
    fd_fdstat_get: refuse,
    fd_read: refuse,
    fd_seek: refuse,
    fd_write(file, vectors, count, out) {
      if (file < 1 || file > STANDARD_ERROR) return BAD_FILE;
      let written = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(vectors + 8 * i, true);
        const size = view().getUint32(vectors + 8 * i + 4, true);
        write(file, new Uint8Array(memory().buffer, at, size).slice());
        written += size;
      }
      view().setUint32(out, written, true);
      return SUCCESS;
    },
    proc_exit(status) {
      throw new Error(`the TVM runtime ended with status ${status}`);
    },
  };
}
