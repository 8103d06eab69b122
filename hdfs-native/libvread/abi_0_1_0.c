/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libvread.so.1 that programs linked with release 0.1.0 call.  They take the
 * structs of that release's vread.h, which have no size argument.
 *
 * The linker offers these symbols to no new program: one '@' marks a version that is not the
 * default.  Only libvread.so.1 contains this file.
 */
#include "cancel.h"
#include "sized.h"
#include "vread.h"

#define OF_0_1_0(call) __asm__(".symver " #call "_0_1_0, " #call "@LIBVREAD_1")
OF_0_1_0(vread_connect);
OF_0_1_0(vread_open);
OF_0_1_0(vread_stat);
OF_0_1_0(vread_publish);

int vread_connect_0_1_0(struct vread **ret, const struct vread_options *options);
int vread_open_0_1_0(struct vread *v, const struct vread_block *block, struct vread_file **ret);
int vread_stat_0_1_0(struct vread_file *f, struct vread_stat *ret);
int vread_publish_0_1_0(struct vread *v, const struct vread_block *block, unsigned event,
			uint64_t length);

int vread_connect_0_1_0(struct vread **ret, const struct vread_options *options)
{
	NO_CANCEL;
	return vread_connect_sized(ret, options, OPTIONS_BYTES_0_1_0);
}

int vread_open_0_1_0(struct vread *v, const struct vread_block *block, struct vread_file **ret)
{
	NO_CANCEL;
	return vread_open_sized(v, block, BLOCK_BYTES_0_1_0, ret);
}

int vread_stat_0_1_0(struct vread_file *f, struct vread_stat *ret)
{
	NO_CANCEL;
	return vread_stat_sized(f, ret, STAT_BYTES_0_1_0);
}

int vread_publish_0_1_0(struct vread *v, const struct vread_block *block, unsigned event,
			uint64_t length)
{
	NO_CANCEL;
	return vread_publish_sized(v, block, BLOCK_BYTES_0_1_0, event, length);
}
