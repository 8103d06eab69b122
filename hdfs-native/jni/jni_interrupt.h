/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jni_interrupt.h - lets an interrupt of a Java thread end its wait in libvread.
 *
 * Thread.interrupt() wakes no thread that waits in native code.  So a waiting thread asks for its
 * own flag now and then (`interrupted` of struct vread_options).
 */
#ifndef VREAD_JNI_INTERRUPT_H
#define VREAD_JNI_INTERRUPT_H

/* True if the calling thread is interrupted, as Thread.isInterrupted() says; the flag stays set.
 * Call it on Java threads only. */
int jni_interrupted(void *unused);

#endif
