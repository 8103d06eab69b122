// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A plug-in of QEMU that counts the instructions of an emulated machine with one processor.
 * tools/lab/counter.py loads it: -plugin lab-count.so,count=FILE.  The first 8 bytes of the file
 * are the count, which anybody may read at any time.
 *
 * A translated block adds its length when it begins.  A block that a fault leaves early counts
 * whole.  Processors that wait for an interrupt execute nothing, so idle time does not count.
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
struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
typedef void (*translated_t)(qemu_plugin_id_t id, struct qemu_plugin_tb *block);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translated_t translated);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op op,
					      void *counter, uint64_t amount);

extern EXPORT int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

int qemu_plugin_version = 1;
static uint64_t *counter;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, counter,
						 qemu_plugin_tb_n_insns(block));
}

static uint64_t *mapped(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *memory = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*counter)) == 0)
		memory = mmap(NULL, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	static const char name[] = "count=";

	(void)info;
	if (argc == 1 && strncmp(argv[0], name, strlen(name)) == 0)
		counter = mapped(argv[0] + strlen(name));
	if (!counter) {
		fprintf(stderr,
			"lab-count: expected count=FILE, with a file that can be written\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
