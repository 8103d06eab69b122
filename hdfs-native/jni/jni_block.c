/* SPDX-License-Identifier: Apache-2.0 */
#include "jni_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vread-ring-user.h"

/* Appends the bytes of an array and a NUL at *end.  Returns the number of bytes without the NUL,
 * or -EINVAL: longer than `longest`, or no room before `limit`. */
static int append(JNIEnv *env, jbyteArray array, size_t longest, char **end, char *limit)
{
	jsize length = (*env)->GetArrayLength(env, array);

	if (length < 0 || (size_t)length > longest || limit - *end <= length)
		return -EINVAL;
	(*env)->GetByteArrayRegion(env, array, 0, length, (jbyte *)*end);
	*end += length;
	*(*end)++ = '\0';
	return length;
}

static int append_string(JNIEnv *env, jbyteArray array, size_t longest, char **end, char *limit)
{
	const char *start = *end;
	int r = append(env, array, longest, end, limit);

	return r > 0 && strlen(start) == (size_t)r ? 0 : -EINVAL;
}

static int append_storage_ids(JNIEnv *env, struct jni_block *b, jobjectArray ids, char **end,
			      char *limit)
{
	jsize count = (*env)->GetArrayLength(env, ids);

	if ((size_t)count > VREAD_MAX_STORAGES)
		return -EINVAL;
	for (jsize i = 0; i < count; i++) {
		jbyteArray id = (*env)->GetObjectArrayElement(env, ids, i);
		int r;

		if (!id)
			return -EINVAL;
		b->storage_ids[i] = *end;
		r = append_string(env, id, VREAD_MAX_STORAGE_ID, end, limit);
		(*env)->DeleteLocalRef(env, id);
		if (r)
			return r;
	}
	b->block.storage_ids = b->storage_ids;
	b->block.num_storage_ids = (size_t)count;
	return 0;
}

static int fill(JNIEnv *env, struct jni_block *b, jbyteArray pool_id, jobjectArray storage_ids,
		jbyteArray token, size_t size)
{
	char *end = b->storage, *limit = b->storage + size;
	int r;

	b->block.pool_id = end;
	r = append_string(env, pool_id, VREAD_MAX_POOL_ID, &end, limit);
	if (!r && storage_ids)
		r = append_storage_ids(env, b, storage_ids, &end, limit);
	if (!r && token) {
		b->block.token = end;
		r = append(env, token, VREAD_MAX_TOKEN, &end, limit);
		b->block.token_length = r > 0 ? (size_t)r : 0;
	}
	return r < 0 ? r : 0;
}

int jni_block_init(JNIEnv *env, struct jni_block *ret, jbyteArray pool_id, jlong block_id,
		   jlong generation_stamp, jobjectArray storage_ids, jbyteArray token)
{
	const size_t size = VREAD_MAX_POOL_ID + 1 +
			    VREAD_MAX_STORAGES * (VREAD_MAX_STORAGE_ID + 1) + VREAD_MAX_TOKEN + 2;
	struct jni_block b = {
		.block = {.block_id = block_id, .generation_stamp = (uint64_t)generation_stamp},
	};
	int r;

	if (!pool_id || generation_stamp < 0)
		return -EINVAL;
	b.storage = malloc(size);
	b.storage_ids = calloc(VREAD_MAX_STORAGES, sizeof(*b.storage_ids));
	r = b.storage && b.storage_ids ? fill(env, &b, pool_id, storage_ids, token, size) : -ENOMEM;
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionClear(env);
		r = r ?: -EINVAL;
	}
	if (r)
		jni_block_free(&b);
	else
		*ret = b;
	return r;
}

void jni_block_free(struct jni_block *block)
{
	free(block->storage);
	free(block->storage_ids);
}
