/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page-granter - grants dom0 write access to pages of a guest, without a driver.
 * pair/test_rdma.py runs it in a guest.
 *
 *   page-granter PAGES FILE
 *
 * Grants PAGES pages, prints their grant references and "all", and waits for a line on standard
 * input. Then writes the contents of the pages to FILE.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xengnttab.h>

#define PAGE 4096U

int main(int argc, char **argv)
{
	uint32_t count = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	uint32_t *references = calloc(count, sizeof(*references));
	xengntshr_handle *handle = xengntshr_open(NULL, 0);
	char line[8];
	void *pages;
	FILE *file;

	pages = handle ? xengntshr_share_pages(handle, 0, count, references, 1) : NULL;
	if (!pages) {
		perror("sharing pages");
		return 1;
	}
	for (uint32_t i = 0; i < count; i++)
		printf("%" PRIu32 "\n", references[i]);
	printf("all\n");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	file = fopen(argv[2], "w");
	if (!file || fwrite(pages, PAGE, count, file) != count || fclose(file)) {
		perror(argv[2]);
		return 1;
	}
	xengntshr_unshare(handle, pages, count);
	xengntshr_close(handle);
	free(references);
	return 0;
}
