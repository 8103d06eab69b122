/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jni_block.h - a struct vread_block out of Java's arguments.
 *
 * Everything is copied into one private allocation, so that no Java array or
 * string is held while a call waits for the backend.
 */
#ifndef VREAD_JNI_BLOCK_H
#define VREAD_JNI_BLOCK_H

#include <jni.h>

#include "vread.h"

struct jni_block {
	struct vread_block block;
	char *storage; /* pool id, storage ids and token behind one another */
	const char **storage_ids;
};

/* Strings are ASCII bytes.  storage_ids (byte[][]) and token may be NULL.  0, -EINVAL for what
 * exceeds the protocol's limits or holds a NUL, -ENOMEM.  Leaves no exception pending. */
int jni_block_init(JNIEnv *env, struct jni_block *ret, jbyteArray pool_id, jlong block_id,
		   jlong generation_stamp, jobjectArray storage_ids, jbyteArray token);
void jni_block_free(struct jni_block *block);

#endif
