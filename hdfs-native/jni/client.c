/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native methods of io.vread.hdfs.read.NativeBackend.  Each calls libvread.  Pointers are
 * passed as positive longs, errors as negative errno.
 *
 * SetByteArrayRegion() copies bytes from the slice directly into the Java array, piece by piece.
 * This is the only copy, the garbage collector is not held up, and Java never gets a pointer into
 * the slice.  No method throws: the methods check their arguments, so that no JNI function fails.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "io_vread_hdfs_read_NativeBackend.h"
#include "jni_block.h"
#include "jni_interrupt.h"
#include "vread.h"

#define METHOD(type, name) JNIEXPORT type JNICALL Java_io_vread_hdfs_read_NativeBackend_##name

static struct vread *connection(jlong pointer)
{
	return (struct vread *)(uintptr_t)pointer;
}

static struct vread_file *file(jlong pointer)
{
	return (struct vread_file *)(uintptr_t)pointer;
}

/* ---- connections --------------------------------------------------------- */

METHOD(jlong, connectTo)
(JNIEnv *env, jobject self, jbyteArray endpoint, jlong pool_bytes, jint timeout_ms,
 jint readahead_bytes)
{
	char path[4096] = "";
	struct vread_options options = {
		.pool_bytes = (size_t)pool_bytes,
		.timeout_ms = (unsigned)timeout_ms,
		.readahead_bytes = (unsigned)readahead_bytes,
		.interrupted = jni_interrupted,
	};
	struct vread *v;
	jsize length = endpoint ? (*env)->GetArrayLength(env, endpoint) : 0;
	int r;

	(void)self;
	if ((size_t)length >= sizeof(path) || pool_bytes < 0 || timeout_ms < 0 ||
	    readahead_bytes < 0)
		return -EINVAL;
	if (length) {
		(*env)->GetByteArrayRegion(env, endpoint, 0, length, (jbyte *)path);
		options.endpoint = path;
	}
	if (strlen(path) != (size_t)length)
		return -EINVAL; /* a NUL would cut the path */
	r = vread_connect(&v, &options);
	return r ?: (jlong)(uintptr_t)v;
}

METHOD(void, disconnect)(JNIEnv *env, jobject self, jlong v)
{
	(void)env;
	(void)self;
	vread_disconnect(connection(v));
}

METHOD(jint, ping)(JNIEnv *env, jobject self, jlong v)
{
	(void)env;
	(void)self;
	return vread_ping(connection(v));
}

/* ---- files --------------------------------------------------------------- */

METHOD(jlong, openBlock)
(JNIEnv *env, jobject self, jlong v, jbyteArray pool_id, jlong block_id, jlong generation_stamp,
 jlong visible_length, jobjectArray storage_ids, jbyteArray token, jint protect)
{
	struct vread_file *f;
	struct jni_block b;
	int r;

	(void)self;
	if (visible_length < 0)
		return -EINVAL;
	r = jni_block_init(env, &b, pool_id, block_id, generation_stamp, storage_ids, token);
	if (r)
		return r;
	b.block.visible_length = (uint64_t)visible_length;
	b.block.protect = (unsigned)protect;
	r = vread_open(connection(v), &b.block, &f);
	jni_block_free(&b);
	return r ?: (jlong)(uintptr_t)f;
}

METHOD(void, close)(JNIEnv *env, jobject self, jlong f)
{
	(void)env;
	(void)self;
	vread_close(file(f));
}

METHOD(jlong, length)(JNIEnv *env, jobject self, jlong f)
{
	struct vread_stat st;
	int r = vread_stat(file(f), &st);

	(void)env;
	(void)self;
	return r ?: (jlong)st.visible_length;
}

METHOD(jint, flags)(JNIEnv *env, jobject self, jlong f)
{
	struct vread_stat st;
	int r = vread_stat(file(f), &st);

	(void)env;
	(void)self;
	return r ?: (jint)(st.flags & (VREAD_FINALIZED | VREAD_REMOTE));
}

/* ---- reading ------------------------------------------------------------- */

/* The place of the next piece in a Java array. */
struct array_sink {
	JNIEnv *env;
	jbyteArray array;
	jsize at;
};

static void into_array(void *opaque, const void *data, size_t length)
{
	struct array_sink *s = opaque;

	(*s->env)->SetByteArrayRegion(s->env, s->array, s->at, (jsize)length, data);
	s->at += (jsize)length;
}

static bool inside(jlong offset, jlong length, jlong capacity)
{
	return offset >= 0 && length >= 0 && capacity >= 0 && offset <= capacity - length;
}

/* Returns the address of [offset, offset + length) of a direct buffer.  NULL: the buffer is not
 * direct or has no such range. */
static char *direct_range(JNIEnv *env, jobject buffer, jint offset, jint length)
{
	char *address = buffer ? (*env)->GetDirectBufferAddress(env, buffer) : NULL;

	if (!address || !inside(offset, length, (*env)->GetDirectBufferCapacity(env, buffer)))
		return NULL;
	return address + offset;
}

static jint move_to(struct vread_file *f, jlong position)
{
	int64_t r = vread_seek(f, position, SEEK_SET);

	return r < 0 ? (jint)r : 0;
}

METHOD(jint, readArray)
(JNIEnv *env, jobject self, jlong f, jlong position, jbyteArray dst, jint offset, jint length)
{
	struct array_sink sink = {env, dst, offset};
	jint r;

	(void)self;
	if (!dst || !inside(offset, length, (*env)->GetArrayLength(env, dst)))
		return -EINVAL;
	r = move_to(file(f), position);
	return r ?: (jint)vread_read_to(file(f), (size_t)length, into_array, &sink);
}

METHOD(jint, preadArray)
(JNIEnv *env, jobject self, jlong f, jlong position, jbyteArray dst, jint offset, jint length)
{
	struct array_sink sink = {env, dst, offset};

	(void)self;
	if (!dst || position < 0 || !inside(offset, length, (*env)->GetArrayLength(env, dst)))
		return -EINVAL;
	return (jint)vread_pread_to(file(f), (size_t)length, (uint64_t)position, into_array, &sink);
}

METHOD(jint, readDirect)
(JNIEnv *env, jobject self, jlong f, jlong position, jobject dst, jint offset, jint length)
{
	char *to = direct_range(env, dst, offset, length);
	jint r;

	(void)self;
	if (!to)
		return -EINVAL;
	r = move_to(file(f), position);
	return r ?: (jint)vread_read(file(f), to, (size_t)length);
}

METHOD(jint, preadDirect)
(JNIEnv *env, jobject self, jlong f, jlong position, jobject dst, jint offset, jint length)
{
	char *to = direct_range(env, dst, offset, length);

	(void)self;
	if (!to || position < 0)
		return -EINVAL;
	return (jint)vread_pread(file(f), to, (size_t)length, (uint64_t)position);
}
