/* The features of this CPU by LLVM's names, as kokoro_tvm/common/cpu_features.py lists them. They are read from the CPU
 * itself (CPUID, the auxiliary vector, sysctl on macOS), because an emulator shows /proc/cpuinfo of its host.
 * CPU_FEATURE_COUNT is undefined for other architectures. */
#ifndef KOKORO_CPU_FEATURES_H
#define KOKORO_CPU_FEATURES_H

#if defined(__x86_64__)
#include <cpuid.h>
enum { A, B, C, D };
enum { ALWAYS, AVX, AVX512, TILES }; /* registers that the operating system has to save */
typedef struct cpu_feature {
  const char *name;
  unsigned leaf, part;
  int word, bit, registers;
} cpu_feature;
static const cpu_feature CPU_FEATURES[] = {
    {"sse2", 1, 0, D, 26, ALWAYS}, {"sse3", 1, 0, C, 0, ALWAYS}, {"pclmul", 1, 0, C, 1, ALWAYS},
    {"ssse3", 1, 0, C, 9, ALWAYS}, {"fma", 1, 0, C, 12, AVX}, {"cx16", 1, 0, C, 13, ALWAYS},
    {"sse4.1", 1, 0, C, 19, ALWAYS}, {"sse4.2", 1, 0, C, 20, ALWAYS}, {"movbe", 1, 0, C, 22, ALWAYS},
    {"popcnt", 1, 0, C, 23, ALWAYS}, {"aes", 1, 0, C, 25, ALWAYS}, {"avx", 1, 0, C, 28, AVX},
    {"f16c", 1, 0, C, 29, AVX}, {"sahf", 0x80000001, 0, C, 0, ALWAYS}, {"lzcnt", 0x80000001, 0, C, 5, ALWAYS},
    {"sse4a", 0x80000001, 0, C, 6, ALWAYS}, {"prfchw", 0x80000001, 0, C, 8, ALWAYS},
    {"xop", 0x80000001, 0, C, 11, AVX}, {"fma4", 0x80000001, 0, C, 16, AVX},
    {"tbm", 0x80000001, 0, C, 21, ALWAYS}, {"bmi", 7, 0, B, 3, ALWAYS}, {"avx2", 7, 0, B, 5, AVX},
    {"bmi2", 7, 0, B, 8, ALWAYS}, {"avx512f", 7, 0, B, 16, AVX512}, {"avx512dq", 7, 0, B, 17, AVX512},
    {"adx", 7, 0, B, 19, ALWAYS}, {"avx512ifma", 7, 0, B, 21, AVX512}, {"avx512cd", 7, 0, B, 28, AVX512},
    {"sha", 7, 0, B, 29, ALWAYS}, {"avx512bw", 7, 0, B, 30, AVX512}, {"avx512vl", 7, 0, B, 31, AVX512},
    {"avx512vbmi", 7, 0, C, 1, AVX512}, {"avx512vbmi2", 7, 0, C, 6, AVX512}, {"gfni", 7, 0, C, 8, ALWAYS},
    {"vaes", 7, 0, C, 9, AVX}, {"vpclmulqdq", 7, 0, C, 10, AVX}, {"avx512vnni", 7, 0, C, 11, AVX512},
    {"avx512bitalg", 7, 0, C, 12, AVX512}, {"avx512vpopcntdq", 7, 0, C, 14, AVX512},
    {"avx512vp2intersect", 7, 0, D, 8, AVX512}, {"avx512fp16", 7, 0, D, 23, AVX512},
    {"amx-bf16", 7, 0, D, 22, TILES}, {"amx-tile", 7, 0, D, 24, TILES},
    {"avxvnni", 7, 1, A, 4, AVX}, {"avx512bf16", 7, 1, A, 5, AVX512}, {"avxifma", 7, 1, A, 23, AVX},
    {"avxvnniint8", 7, 1, D, 4, AVX}, {"avxneconvert", 7, 1, D, 5, AVX}, {"avxvnniint16", 7, 1, D, 10, AVX}};

static unsigned saved_registers(void) { /* bits 0 to 31 of XCR0 */
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static int cpu_has(const cpu_feature *element) {
  static const unsigned needed[] = {0, 6, 0xE6, 0x60000};
  unsigned registers[4] = {0}, most = __get_cpuid_max(element->leaf & 0x80000000, 0), first[4];
  if (most < element->leaf) return 0;
  if (element->part) { /* part 0 of leaf 7 has the number of the last part */
    __cpuid_count(element->leaf, 0, first[A], first[B], first[C], first[D]);
    if (first[A] < element->part) return 0;
  }
  __cpuid_count(element->leaf, element->part, registers[A], registers[B], registers[C], registers[D]);
  unsigned saved = element->registers ? saved_registers() : 0;
  return (registers[element->word] >> element->bit & 1) && (saved & needed[element->registers]) == needed[element->registers];
}
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
typedef struct cpu_feature {
  const char *name, *key; /* key: macOS' name; NULL: every Mac with Apple's processor has it, since the M1 */
} cpu_feature;
static const cpu_feature CPU_FEATURES[] = {
    {"fp-armv8", NULL}, {"neon", NULL}, {"aes", NULL}, {"sha2", NULL}, {"crc", NULL}, {"lse", NULL},
    {"fullfp16", NULL}, {"rdm", NULL}, {"jsconv", NULL}, {"complxnum", NULL}, {"rcpc", NULL}, {"sha3", NULL},
    {"sm4", "FEAT_SM4"}, {"dotprod", NULL}, {"sve", "FEAT_SVE"}, {"fp16fml", NULL}, {"lse2", NULL},
    {"rcpc-immo", NULL}, {"flagm", NULL}, {"sve2", "FEAT_SVE2"}, {"fptoint", NULL}, {"i8mm", "FEAT_I8MM"},
    {"bf16", "FEAT_BF16"}};

static int cpu_has(const cpu_feature *element) {
  char name[40] = "hw.optional.arm.";
  int has = 0;
  size_t size = sizeof has;
  return !element->key || (sysctlbyname(strcat(name, element->key), &has, &size, NULL, 0) == 0 && has);
}
#elif defined(__aarch64__)
#include <sys/auxv.h>
typedef struct cpu_feature {
  const char *name;
  int word, bit;
} cpu_feature;
static const cpu_feature CPU_FEATURES[] = {
    {"fp-armv8", 0, 0}, {"neon", 0, 1}, {"aes", 0, 3}, {"sha2", 0, 6}, {"crc", 0, 7}, {"lse", 0, 8},
    {"fullfp16", 0, 10}, {"rdm", 0, 12}, {"jsconv", 0, 13}, {"complxnum", 0, 14}, {"rcpc", 0, 15},
    {"sha3", 0, 17}, {"sm4", 0, 19}, {"dotprod", 0, 20}, {"sve", 0, 22}, {"fp16fml", 0, 23}, {"lse2", 0, 25},
    {"rcpc-immo", 0, 26}, {"flagm", 0, 27}, {"sve2", 1, 1}, {"fptoint", 1, 8}, {"i8mm", 1, 13}, {"bf16", 1, 14}};

static int cpu_has(const cpu_feature *element) {
  return getauxval(element->word ? AT_HWCAP2 : AT_HWCAP) >> element->bit & 1;
}
#elif defined(__riscv)
#include <sys/auxv.h>
typedef struct cpu_feature {
  const char *name;
} cpu_feature;
static const cpu_feature CPU_FEATURES[] = {{"m"}, {"a"}, {"f"}, {"d"}, {"c"}, {"v"}};

static int cpu_has(const cpu_feature *element) { return getauxval(AT_HWCAP) >> (element->name[0] - 'a') & 1; }
#endif

#if defined(__x86_64__) || defined(__aarch64__) || defined(__riscv)
#define CPU_FEATURE_COUNT (sizeof CPU_FEATURES / sizeof *CPU_FEATURES)
#endif

#endif
