/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connect.c - implements connect.h: options and connection of `vread stat`, `vread cat` and
 * `vread publish`. */
#include "connect.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "denied.h"

int reader_option(struct reader_options *o, int option, const char *value)
{
	unsigned long long number;

	switch (option) {
	case OPTION_ENDPOINT:
		o->library.endpoint = value;
		return 0;
	case OPTION_TIMEOUT:
		if (!cli_number(value, 1, INT_MAX, &number))
			return cli_usage("--timeout %s: expected milliseconds, at least 1", value);
		o->library.timeout_ms = (unsigned)number;
		return 0;
	case OPTION_BLOCKS_FROM:
		return block_list_add_file(&o->blocks, value);
	default:
		return cli_bad_option();
	}
}

int reader_arguments(struct reader_options *o, int argc, char **argv)
{
	int r = 0;

	for (int i = optind; !r && i < argc; i++)
		r = block_list_add(&o->blocks, argv[i]);
	if (!r && !o->blocks.count)
		r = cli_usage("no block given");
	return r;
}

static const char *endpoint_name(const struct reader_options *o)
{
	return o->library.endpoint ?: getenv("VREAD_ENDPOINT") ?: "/dev/vread";
}

/* Other processes share the device's pool.  If pool_bytes are not free, asks for less, down to
 * least. */
static int connect_with_less(struct vread_options *library, size_t least, struct vread **ret)
{
	int r = vread_connect(ret, library);

	while (r == -ENOSPC && library->pool_bytes / 2 >= least) {
		library->pool_bytes /= 2;
		r = vread_connect(ret, library);
	}
	return r;
}

static int denied(const struct reader_options *o, const char *name)
{
	char node[PATH_MAX], user[64], found[DENIED_TEXT], remedy[DENIED_TEXT];
	const struct passwd *p = getpwuid(geteuid());
	struct stat st;
	bool there;

	snprintf(user, sizeof(user), "%s", p ? p->pw_name : "this user");
	snprintf(node, sizeof(node), "%s", name);
	there = stat(node, &st) == 0;
	if (there && o->library.publisher && S_ISCHR(st.st_mode)) {
		snprintf(node, sizeof(node), "%s-publish", name);
		there = stat(node, &st) == 0;
	}
	denied_text(node, there ? &st : NULL, user, found, remedy);
	return cli_error(CLI_FAILED, "%s: permission denied: %s; %s", node, found, remedy);
}

/* The file of a socket that is mounted into a container stays that of a vreadd that is gone. */
static int no_answer(const char *name)
{
	struct stat st;
	bool is_socket = stat(name, &st) == 0 && S_ISSOCK(st.st_mode);

	return cli_error(CLI_NO_PEER, "%s: no backend answers; is vreadd running?%s", name,
			 is_socket ? " (a container needs the folder of the socket, not the socket)"
				   : "");
}

int reader_connect(struct reader_options *o, size_t least, struct vread **ret)
{
	const char *name = endpoint_name(o);
	int r = connect_with_less(&o->library, least, ret);

	switch (r) {
	case 0:
		return 0;
	case -ENOENT:
		if (o->library.publisher && access(name, F_OK) == 0)
			return cli_error(CLI_NO_PEER,
					 "%s-publish: no such device; it is there when a device of "
					 "role=datanode (xl-vread attach) has connected",
					 name);
		return cli_error(CLI_NO_PEER,
				 "%s: no such device or socket; in a guest load xen-vreadfront "
				 "(Xen) or vread-ivshmem (KVM), elsewhere name the socket of "
				 "vreadd's local port with --endpoint",
				 name);
	case -ENOTCONN:
		return no_answer(name);
	case -ETIME:
		return cli_error(CLI_NO_PEER, "%s: no answer in time; is vreadd stuck?", name);
	case -EACCES:
		return denied(o, name);
	case -ENOSPC:
		return cli_error(
			CLI_FAILED,
			"%s: %zu bytes of its pool are not free; other processes hold them", name,
			least);
	case -EINVAL:
		return cli_error(CLI_FAILED, "%s: neither a vread device nor a socket", name);
	default:
		return cli_error(CLI_FAILED, "%s: %s", name, vread_strerror(r));
	}
}

int reader_open(struct vread *v, const struct block_spec *spec, bool encrypt,
		struct vread_file **ret)
{
	const char *storage = spec->storage;
	const struct vread_block block = {
		.pool_id = spec->pool,
		.block_id = spec->block_id,
		.generation_stamp = spec->genstamp,
		.visible_length = spec->length,
		.storage_ids = &storage,
		.num_storage_ids = *storage ? 1 : 0,
		.protect = encrypt ? VREAD_PROTECT_ENCRYPT : 0,
	};

	return vread_open(v, &block, ret);
}

int reader_failed(const struct block_spec *spec, int error)
{
	return cli_error(error == -ENOTCONN ? CLI_NO_PEER : CLI_FAILED, "%s: %s", spec->text,
			 vread_strerror(error));
}
