/* Emulator of the tile instructions of AMX (AMX-TILE, AMX-BF16) for CPUs without them, where they are illegal: the
 * signal handler computes what Intel's manual says, with the tiles of the thread. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

typedef struct tiles {
  uint8_t palette, start_row;
  uint8_t rows[TILES];
  uint16_t row_bytes[TILES];
  uint8_t data[TILES][ROWS][ROW_BYTES];
} tiles;

static __thread tiles here;
static struct sigaction before;

static uint64_t value_of(const greg_t *registers, int number) { /* in the order of the encoding */
  static const int places[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)registers[places[number]];
}

/* A VEX instruction of the map 0F38. */
typedef struct instruction {
  int prefix; /* 0: none, 1: 66, 2: F3, 3: F2 */
  int opcode, mod, reg, rm, vvvv;
  uint64_t address, stride; /* of the memory operand; the scaled index register */
  int bytes;
} instruction;

static int decoded(const uint8_t *code, const greg_t *registers, instruction *made) {
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || code[2] & 0x84) return 0; /* W and L have to be 0 */
  int x = code[1] & 0x40 ? 0 : 8, b = code[1] & 0x20 ? 0 : 8;
  const uint8_t *at = code + 5;
  *made = (instruction){.prefix = code[2] & 3, .opcode = code[3], .vvvv = ~code[2] >> 3 & 15};
  made->mod = code[4] >> 6;
  made->reg = code[4] >> 3 & 7;
  made->rm = code[4] & 7;
  if (!(code[1] & 0x80)) return 0; /* there are eight tiles */
  if (made->mod != 3) {
    int has_index = made->rm == 4;
    int scale = has_index ? *at >> 6 : 0, index = has_index ? (*at >> 3 & 7) + x : 4;
    int base = (has_index ? *at & 7 : made->rm) + b;
    at += has_index;
    if (index != 4) made->stride = value_of(registers, index) << scale;
    if (made->mod == 0 && (base & 7) == 5) { /* no base; relative to the next instruction if there is no index byte */
      int32_t far;
      memcpy(&far, at, 4);
      at += 4;
      made->address = (uint64_t)(int64_t)far + (has_index ? 0 : (uint64_t)(uintptr_t)at);
    } else {
      made->address = value_of(registers, base);
      if (made->mod == 1) made->address += (uint64_t)(int64_t)(int8_t)*at++;
      if (made->mod == 2) {
        int32_t far;
        memcpy(&far, at, 4);
        at += 4;
        made->address += (uint64_t)(int64_t)far;
      }
    }
  }
  made->bytes = (int)(at - code);
  return 1;
}

static int configure(const uint8_t *from) { /* 64 bytes: palette, first row, 14 reserved, bytes per row, rows */
  memset(&here, 0, sizeof here);
  if (from[0] > 1) return 0;
  if (from[0] == 0) return 1;
  here.palette = from[0];
  here.start_row = from[1];
  for (int i = 0; i < TILES; ++i) {
    memcpy(&here.row_bytes[i], from + 16 + 2 * i, 2);
    here.rows[i] = from[48 + i];
    if (here.row_bytes[i] > ROW_BYTES || here.rows[i] > ROWS) return 0;
  }
  return 1;
}

static int move(int tile, const instruction *each, int stores) {
  if (!here.palette || !here.rows[tile] || !here.row_bytes[tile]) return 0;
  uint8_t kept[ROWS][ROW_BYTES] = {{0}};
  for (int row = 0; row < here.rows[tile]; ++row) {
    uint8_t *memory = (uint8_t *)(uintptr_t)(each->address + (uint64_t)row * each->stride);
    if (stores)
      memcpy(memory, here.data[tile][row], here.row_bytes[tile]);
    else
      memcpy(kept[row], memory, here.row_bytes[tile]);
  }
  if (!stores) memcpy(here.data[tile], kept, sizeof kept);
  return 1;
}

static float number(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

/* Even and odd products of a pair are summed separately, each with one rounding; subnormal numbers are zero. */
static int multiply(int sum, int a, int b) {
  if (!here.palette || sum == a || sum == b || a == b) return 0;
  int pairs = here.row_bytes[a] / 4, columns = here.row_bytes[sum] / 4;
  if (!here.rows[sum] || here.rows[sum] != here.rows[a] || here.row_bytes[sum] != here.row_bytes[b]) return 0;
  if (pairs != here.rows[b] || !pairs || !columns) return 0;
  unsigned mode = _mm_getcsr();
  _mm_setcsr(0x9FC0); /* round to nearest, raise nothing, treat subnormal inputs and results as zero */
  float factors[2][ROWS][ROWS]; /* for the even and the odd products; columns after the last are unused */
  for (int k = 0; k < pairs; ++k)
    for (int n = 0; n < ROWS; ++n) {
      uint32_t pair;
      memcpy(&pair, &here.data[b][k][4 * n], 4);
      factors[0][k][n] = number(pair << 16);
      factors[1][k][n] = number(pair & 0xFFFF0000u);
    }
  for (int row = 0; row < here.rows[sum]; ++row) {
    float even[ROWS] = {0}, odd[ROWS] = {0}, total[ROWS];
    for (int k = 0; k < pairs; ++k) {
      uint32_t pair;
      memcpy(&pair, &here.data[a][row][4 * k], 4);
      for (int n = 0; n < ROWS; ++n) {
        even[n] = __builtin_fmaf(number(pair << 16), factors[0][k][n], even[n]);
        odd[n] = __builtin_fmaf(number(pair & 0xFFFF0000u), factors[1][k][n], odd[n]);
      }
    }
    memcpy(total, here.data[sum][row], sizeof total);
    for (int n = 0; n < columns; ++n) total[n] += even[n] + odd[n];
    for (int n = columns; n < ROWS; ++n) total[n] = 0;
    memcpy(here.data[sum][row], total, sizeof total);
  }
  for (int row = here.rows[sum]; row < ROWS; ++row) memset(here.data[sum][row], 0, ROW_BYTES);
  _mm_setcsr(mode);
  return 1;
}

static int executed(const instruction *each) {
  int is_register = each->mod == 3;
  switch (each->opcode << 4 | each->prefix << 1 | is_register) {
    case 0x490: return configure((const uint8_t *)(uintptr_t)each->address);
    case 0x491: /* tilerelease */
      memset(&here, 0, sizeof here);
      return each->reg == 0 && each->rm == 0;
    case 0x497: /* tilezero */
      if (!here.palette) return 0;
      memset(here.data[each->reg], 0, sizeof here.data[0]);
      return 1;
    case 0x4B2: /* tileloaddt1 */
    case 0x4B6: return each->rm == 4 && move(each->reg, each, 0);
    case 0x4B4: return each->rm == 4 && move(each->reg, each, 1);
    case 0x5C5: return multiply(each->reg, each->rm, each->vvvv);
  }
  return 0;
}

static void on_illegal(int number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  instruction each;
  if (decoded((const uint8_t *)(uintptr_t)registers[REG_RIP], registers, &each) && executed(&each)) {
    registers[REG_RIP] += each.bytes;
    return;
  }
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(number, info, context);
  else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    before.sa_handler(number);
  else
    sigaction(number, &before, NULL); /* executed again, the instruction ends the process */
}

/* Install the handler; return 0, or -1 on an error. */
int emulate_tiles(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_illegal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return sigaction(SIGILL, &action, &before);
}
