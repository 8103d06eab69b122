/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says of itself to the class that loads it. */
#include "io_vread_NativeLibrary.h"

JNIEXPORT jint JNICALL Java_io_vread_NativeLibrary_version(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return io_vread_NativeLibrary_VERSION;
}
