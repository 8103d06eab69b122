// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes config_load(), which reads vread.conf(5).  The operator writes the file, not a guest; but
 * every mistake must be reported, and no mistake may do harm.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/config.h"
#include "fuzz.h"

static int fd = -1;
static char path[32];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	fd = memfd_create("vread.conf", MFD_CLOEXEC);
	check(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config *config = NULL;
	json_t *problems = NULL;
	char *text;

	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	if (config_load(path, &config, &problems) == 0) {
		for (size_t i = 0; i < config->num_datanodes; i++) {
			const struct config_datanode *d = &config->datanodes[i];

			check(d->name && d->images.count && !d->layout == (d->data_dirs.count > 0));
		}
		config_free(config);
	} else {
		text = config_problems_text(problems);
		check(text && strchr(text, '\n'));
		free(text);
		json_decref(problems);
	}
	return 0;
}
