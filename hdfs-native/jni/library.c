/* SPDX-License-Identifier: Apache-2.0 */
/* The native method of io.vread.NativeLibrary, the class that loads this library: returns the
 * version that the class and the library must have in common. */
#include "io_vread_NativeLibrary.h"

JNIEXPORT jint JNICALL Java_io_vread_NativeLibrary_version(JNIEnv *env, jclass class)
{
	(void)env;
	(void)class;
	return io_vread_NativeLibrary_VERSION;
}
