// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fuzzes what a frontend offers before it is connected: nodes of xenstore (xen_offer_parse()),
 * pages of the pool's directory (xen_directory_parse()), the hello of the local port
 * (hello_parse()).  The first byte of the input selects one.  Nodes are lines "name=value".
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "port/local/hello.h"
#include "port/xen/parse.h"

static const struct xen_limits limits = {4, 2, 4096};

static char *read_node(void *ctx, const char *node)
{
	size_t length = strlen(node);

	for (const char *line = ctx; *line;) {
		size_t end = strcspn(line, "\n");

		if (end > length && !memcmp(line, node, length) && line[length] == '=')
			return strndup(line + length + 1, end - length - 1);
		line += end + (line[end] == '\n');
	}
	return NULL;
}

static void parse_offer(const char *nodes, enum policy_role role)
{
	char error[XEN_ERROR_SIZE] = "";
	struct xen_offer o;

	if (xen_offer_parse(read_node, (void *)nodes, &limits, role, &o, error) < 0) {
		check(error[0] && strlen(error) < XEN_ERROR_SIZE);
		return;
	}
	check(o.num_queues >= 1 && o.num_queues <= limits.max_queues);
	check(o.ring_page_order <= limits.max_ring_page_order);
	check(o.pool_pages >= VREAD_MIN_POOL_PAGES && o.pool_pages <= limits.max_pool_pages);
	check(o.pool_directory != 0);
}

static void parse_directory(struct bytes in)
{
	uint32_t left = take16(&in), next, here;
	struct vread_pool_directory *page = calloc(1, sizeof(*page));
	uint32_t *refs;
	const char *wrong;

	check(page);
	if (in.left)
		memcpy(page, in.at, in.left < sizeof(*page) ? in.left : sizeof(*page));
	here = left < VREAD_DIRECTORY_REFS ? left : VREAD_DIRECTORY_REFS;
	refs = calloc(here + !here, sizeof(*refs));
	check(refs);
	wrong = xen_directory_parse(page, left, refs, &next);
	if (!wrong) {
		check((next != 0) == (left > here));
		for (uint32_t i = 0; i < here; i++)
			check(refs[i]);
	}
	free(refs);
	free(page);
}

static void parse_hello(struct bytes in)
{
	uint8_t *message = bytes_of(in.at, in.left);
	struct vread_local_hello hello;
	const char *reason = NULL;

	if (hello_parse(message, in.left, limits.max_pool_pages, &hello, &reason) < 0) {
		check(reason);
	} else {
		check(hello.num_queues >= 1 && hello.num_queues <= VREAD_MAX_QUEUES);
		check(hello.ring_page_order <= VREAD_MAX_RING_PAGE_ORDER);
		check(hello.pool_pages <= limits.max_pool_pages);
	}
	free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = {data, size};
	uint8_t what = take8(&in);
	char *nodes;

	if (what % 4 == 0) {
		parse_hello(in);
	} else if (what % 4 == 1) {
		parse_directory(in);
	} else {
		nodes = text_of(in.at, in.left);
		parse_offer(nodes, what & 1 ? POLICY_DATANODE : POLICY_CLIENT);
		free(nodes);
	}
	return 0;
}
