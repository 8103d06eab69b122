/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native methods of io.vread.datanode.NativePublisher: publishing with libvread, and writing
 * files out with system calls.  A method that fails returns a negative errno and leaves no
 * exception pending.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io_vread_datanode_NativePublisher.h"
#include "jni_block.h"
#include "vread-ring-user.h"
#include "vread.h"

/* The smallest slice is enough: an event or a set of keys takes at most 16 KiB. */
#define POOL_BYTES ((size_t)64 << 10)

static struct vread *from(jlong connection)
{
	return (struct vread *)(intptr_t)connection;
}

static int get_path(JNIEnv *env, jbyteArray array, char path[static PATH_MAX])
{
	jsize length = (*env)->GetArrayLength(env, array);

	if (length <= 0 || length >= PATH_MAX)
		return -ENAMETOOLONG;
	(*env)->GetByteArrayRegion(env, array, 0, length, (jbyte *)path);
	path[length] = '\0';
	return strlen(path) == (size_t)length ? 0 : -EINVAL;
}

/* Returns a descriptor, or -errno. */
static int open_file(JNIEnv *env, jbyteArray name)
{
	char path[PATH_MAX];
	int fd, r = get_path(env, name, path);

	if (r)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

JNIEXPORT jlong JNICALL Java_io_vread_datanode_NativePublisher_connect(JNIEnv *env, jclass class,
								       jbyteArray endpoint,
								       jint timeout_ms)
{
	char path[PATH_MAX];
	struct vread_options options = {
		.endpoint = path,
		.pool_bytes = POOL_BYTES,
		.timeout_ms = (unsigned)timeout_ms,
		.publisher = 1,
	};
	struct vread *v;
	int r;

	(void)class;
	r = get_path(env, endpoint, path);
	if (!r)
		r = vread_connect(&v, &options);
	return r ?: (jlong)(intptr_t)v;
}

JNIEXPORT void JNICALL Java_io_vread_datanode_NativePublisher_disconnect(JNIEnv *env, jclass class,
									 jlong connection)
{
	(void)env;
	(void)class;
	vread_disconnect(from(connection));
}

JNIEXPORT jboolean JNICALL Java_io_vread_datanode_NativePublisher_connected(JNIEnv *env,
									    jclass class,
									    jlong connection)
{
	(void)env;
	(void)class;
	return vread_connected(from(connection)) ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jint JNICALL Java_io_vread_datanode_NativePublisher_publish(
	JNIEnv *env, jclass class, jlong connection, jint event, jbyteArray pool_id, jlong block_id,
	jlong generation_stamp, jbyteArray storage_id, jlong length)
{
	jclass bytes = (*env)->GetObjectClass(env, storage_id);
	jobjectArray storage_ids = (*env)->NewObjectArray(env, 1, bytes, storage_id);
	struct jni_block block;
	int r;

	(void)class;
	if (!storage_ids) {
		(*env)->ExceptionClear(env);
		return -ENOMEM;
	}
	r = jni_block_init(env, &block, pool_id, block_id, generation_stamp, storage_ids, NULL);
	if (r)
		return r;
	r = vread_publish(from(connection), &block.block, (unsigned)event, (uint64_t)length);
	jni_block_free(&block);
	return r;
}

/* id, algorithm and expiry of each key */
#define NUMBERS 3

struct keys {
	jsize count;
	struct vread_signing_key key[VREAD_MAX_KEYS];
	jbyte bytes[VREAD_MAX_KEYS][VREAD_MAX_KEY];
};

static int get_key(JNIEnv *env, struct keys *k, jsize i, jlongArray numbers, jobjectArray all)
{
	jbyteArray bytes = (*env)->GetObjectArrayElement(env, all, i);
	jsize length = bytes ? (*env)->GetArrayLength(env, bytes) : 0;
	jlong number[NUMBERS];

	if (length <= 0 || length > (jsize)VREAD_MAX_KEY)
		return -EINVAL;
	(*env)->GetLongArrayRegion(env, numbers, i * NUMBERS, NUMBERS, number);
	(*env)->GetByteArrayRegion(env, bytes, 0, length, k->bytes[i]);
	(*env)->DeleteLocalRef(env, bytes);
	k->key[i] = (struct vread_signing_key){
		.id = (int32_t)number[0],
		.algorithm = (unsigned)number[1],
		.expiry = number[2],
		.bytes = k->bytes[i],
		.length = (size_t)length,
	};
	return 0;
}

static int get_keys(JNIEnv *env, struct keys *k, jlongArray numbers, jobjectArray all)
{
	int r = 0;

	k->count = (*env)->GetArrayLength(env, all);
	if (k->count > (jsize)VREAD_MAX_KEYS ||
	    (*env)->GetArrayLength(env, numbers) != k->count * NUMBERS)
		return -EINVAL;
	for (jsize i = 0; i < k->count && !r; i++)
		r = get_key(env, k, i, numbers, all);
	return r;
}

JNIEXPORT jint JNICALL Java_io_vread_datanode_NativePublisher_publishKeys(
	JNIEnv *env, jclass class, jlong connection, jbyteArray pool_id, jbyteArray storage_id,
	jboolean tokens, jlongArray numbers, jobjectArray bytes)
{
	jclass type = (*env)->GetObjectClass(env, storage_id);
	jobjectArray storage_ids = (*env)->NewObjectArray(env, 1, type, storage_id);
	struct jni_block block;
	struct keys keys;
	int r;

	(void)class;
	if (!storage_ids) {
		(*env)->ExceptionClear(env);
		return -ENOMEM;
	}
	r = jni_block_init(env, &block, pool_id, 0, 0, storage_ids, NULL);
	if (r)
		return r;
	r = get_keys(env, &keys, numbers, bytes);
	if (!r)
		r = vread_publish_keys(from(connection), block.block.pool_id,
				       block.block.storage_ids[0], tokens ? 1 : 0, keys.key,
				       (size_t)keys.count);
	explicit_bzero(&keys, sizeof(keys));
	jni_block_free(&block);
	return r;
}

JNIEXPORT jint JNICALL Java_io_vread_datanode_NativePublisher_startWriting(JNIEnv *env,
									   jclass class,
									   jbyteArray file)
{
	int fd = open_file(env, file), r;

	(void)class;
	if (fd < 0)
		return fd;
	r = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE) < 0 ? -errno : 0;
	close(fd);
	return r;
}

JNIEXPORT jint JNICALL Java_io_vread_datanode_NativePublisher_sync(JNIEnv *env, jclass class,
								   jbyteArray file,
								   jboolean data_only)
{
	int fd = open_file(env, file), r;

	(void)class;
	if (fd < 0)
		return fd;
	r = (data_only ? fdatasync(fd) : fsync(fd)) < 0 ? -errno : 0;
	close(fd);
	return r;
}
