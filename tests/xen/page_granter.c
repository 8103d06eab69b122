/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page-granter: a guest's pages for dom0, without a driver.
 *
 *   page-granter PAGES FILE
 *
 * Prints the grant references of so many pages that dom0 may write, and waits for a line
 * on standard input; then what the pages hold is written to FILE.
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
