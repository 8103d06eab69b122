/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jni_block.h - makes a struct vread_block from Java arguments.  client.c and publisher.c call it.
 *
 * All bytes are copied into a private allocation, so that no Java array is held while a call waits
 * for the backend.
 */
#ifndef VREAD_JNI_BLOCK_H
#define VREAD_JNI_BLOCK_H

#include <jni.h>

#include "vread.h"

struct jni_block {
	struct vread_block block;
	char *storage; /* pool id, storage ids and token, one after the other */
	const char **storage_ids;
};

/* Strings are ASCII bytes.  storage_ids (byte[][]) and token may be NULL.  0, -ENOMEM, or -EINVAL:
 * an argument exceeds a limit of the protocol, or a string is empty or holds a NUL.  Leaves no
 * exception pending.  Free *ret with jni_block_free(). */
int jni_block_init(JNIEnv *env, struct jni_block *ret, jbyteArray pool_id, jlong block_id,
		   jlong generation_stamp, jobjectArray storage_ids, jbyteArray token);
void jni_block_free(struct jni_block *block);

#endif
