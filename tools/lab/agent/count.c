// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plug-in of QEMU that counts what an emulated x86 machine with one processor executes and
 * copies.  tools/lab/counter.py loads it: -plugin lab-count.so,count=FILE.  The file has two counts
 * of 8 bytes, which anybody may read at any time: of instructions, and of bytes that were copied.
 *
 * Instructions: a translated block adds its length when it begins.  A block that a fault leaves
 * early counts whole.  Processors that wait for an interrupt execute nothing, so idle time does not
 * count.
 *
 * Bytes copied: those that REP MOVS and stores of 16 bytes from SSE registers write.  Kernels and
 * Xen copy with the former, libc and the JVM with the latter.  Copies by general registers do not
 * count, and memory that SSE registers fill counts as copied.  Stores of AVX registers do not
 * count: the lab's processor has none.
 *
 * Several processors would lose counts: the addition is not atomic.
 *
 * Debian has no header of the API.  What is used of it (version 1, QEMU 4.2 and later) is declared
 * here.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_W = 2 };
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t qemu_plugin_id_t;
typedef void (*translated_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);
typedef void (*accessed_t)(unsigned cpu, uint32_t access, uint64_t address, void *unused);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_t translated);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op op,
					      void *counter, uint64_t amount);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, accessed_t accessed,
				      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
				      void *unused);
unsigned qemu_plugin_mem_size_shift(uint32_t access);
bool qemu_plugin_mem_is_store(uint32_t access);

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

int qemu_plugin_version = 1;
static struct counts {
	uint64_t instructions, copied;
} * counts;

/* The prefixes of an instruction that matter here. */
struct prefixes {
	bool operand_size, repeat; /* 66; F2 or F3 */
};

/* Reads the prefixes; returns how many bytes they are. */
static size_t read_prefixes(const uint8_t *code, size_t size, struct prefixes *p)
{
	static const uint8_t others[] = {0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x67};
	size_t at = 0;

	*p = (struct prefixes){0};
	for (; at < size; at++) {
		if (code[at] == 0x66)
			p->operand_size = true;
		else if (code[at] == 0xF2 || code[at] == 0xF3)
			p->repeat = true;
		else if (!memchr(others, code[at], sizeof(others)))
			break;
	}
	return at < size && (code[at] & 0xF0) == 0x40 ? at + 1 : at; /* REX, in 64-bit mode */
}

/* True if what the instruction stores counts as copied. */
static bool is_copy(const uint8_t *code, size_t size)
{
	struct prefixes p;
	size_t at = read_prefixes(code, size, &p);

	if (at < size && (code[at] == 0xA4 || code[at] == 0xA5)) /* MOVS */
		return p.repeat;
	if (at + 1 >= size || code[at] != 0x0F)
		return false;
	switch (code[at + 1]) {
	case 0x11: /* MOVUPS, MOVUPD; with a prefix of scalars */
	case 0x29: /* MOVAPS, MOVAPD */
	case 0x2B: /* MOVNTPS, MOVNTPD */
		return !p.repeat;
	case 0x7F: /* MOVDQA, MOVDQU; without a prefix of MMX */
		return p.operand_size || p.repeat;
	case 0xE7: /* MOVNTDQ; without a prefix of MMX */
		return p.operand_size;
	default:
		return false;
	}
}

/* An access of the instruction: of one element of a string, or of half an SSE register.  QEMU 7.2
 * calls for loads, too, though it was asked for stores. */
static void stored(unsigned cpu, uint32_t access, uint64_t address, void *unused)
{
	(void)cpu, (void)address, (void)unused;
	if (qemu_plugin_mem_is_store(access))
		counts->copied += 1U << qemu_plugin_mem_size_shift(access);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64,
						 &counts->instructions, count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);

		if (is_copy(qemu_plugin_insn_data(insn), qemu_plugin_insn_size(insn)))
			qemu_plugin_register_vcpu_mem_cb(insn, stored, QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W, NULL);
	}
}

static struct counts *mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*counts)) == 0)
		memory = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	static const char name[] = "count=";

	(void)info;
	if (argc == 1 && strncmp(argv[0], name, strlen(name)) == 0)
		counts = mapped(argv[0] + strlen(name));
	if (!counts) {
		fprintf(stderr,
			"lab-count: expected count=FILE, with a file that can be written\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
