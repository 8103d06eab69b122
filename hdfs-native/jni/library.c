/* SPDX-License-Identifier: Apache-2.0 */
/* What concerns the library as a whole: its version (the native method of io.vread.NativeLibrary,
 * the class that loads it) and the methods of java.lang.Thread that jni_interrupt.h needs. */
#include <stddef.h>

#include "io_vread_NativeLibrary.h"
#include "jni_interrupt.h"

static JavaVM *java;
static jclass thread;
static jmethodID current_thread, is_interrupted;

/* Returns the version that the class and the library must have in common. */
JNIEXPORT jint JNICALL Java_io_vread_NativeLibrary_version(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return io_vread_NativeLibrary_VERSION;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	const jint version = JNI_VERSION_1_8;
	JNIEnv *env;
	jclass class;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, version) != JNI_OK)
		return JNI_ERR;
	class = (*env)->FindClass(env, "java/lang/Thread");
	if (!class)
		return JNI_ERR;
	thread = (*env)->NewGlobalRef(env, class);
	current_thread =
		(*env)->GetStaticMethodID(env, class, "currentThread", "()Ljava/lang/Thread;");
	is_interrupted = (*env)->GetMethodID(env, class, "isInterrupted", "()Z");
	if (!thread || !current_thread || !is_interrupted)
		return JNI_ERR;
	java = vm;
	return version;
}

JNIEXPORT void JNICALL JNI_OnUnload(JavaVM *vm, void *reserved)
{
	JNIEnv *env;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) == JNI_OK)
		(*env)->DeleteGlobalRef(env, thread);
}

int jni_interrupted(void *unused)
{
	JNIEnv *env;
	jobject current;
	int interrupted;

	(void)unused;
	if ((*java)->GetEnv(java, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return 0;
	/* No exception is expected, and a stack overflow is no interrupt. */
	current = (*env)->CallStaticObjectMethod(env, thread, current_thread);
	if ((*env)->ExceptionCheck(env) || !current) {
		(*env)->ExceptionClear(env);
		return 0;
	}
	interrupted = (*env)->CallBooleanMethod(env, current, is_interrupted);
	if ((*env)->ExceptionCheck(env)) {
		(*env)->ExceptionClear(env);
		interrupted = 0;
	}
	(*env)->DeleteLocalRef(env, current);
	return interrupted;
}
