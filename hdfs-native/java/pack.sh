#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adds the native library, the release's version and its POM to Maven's jar. As in Maven's jar
# (pom.xml), nothing is compressed, and all entries have one time.
# Usage: pack.sh JAR LIBRARY VERSION
set -eu

jar=$1
library=$2
version=$3
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build/java
work=$(mktemp -d "$build/pack.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Prints the content of an element of the module's POM.
of_pom() {
	sed -n "s|^ *<$1>\(.*\)</$1>\$|\1|p" "$here/pom.xml"
}

arch=$(uname -m)
mkdir -p "$work/native/linux-$arch"
cp "$library" "$work/native/linux-$arch/libvread_jni.so"
strip --strip-debug "$work/native/linux-$arch/libvread_jni.so"
cp "$build/target/vread-hdfs.jar" "$work/out.jar"
echo "Implementation-Version: $version" >"$work/manifest"
# Where tools that examine jars look for the name and version of an artifact.
maven=META-INF/maven/io.vread/vread-hdfs
mkdir -p "$work/$maven"
sed "s|@VERSION@|$version|; s|@HADOOP@|$(of_pom hadoop.version)|" "$here/release.pom.xml" \
	>"$work/$maven/pom.xml"
printf 'artifactId=vread-hdfs\ngroupId=io.vread\nversion=%s\n' "$version" \
	>"$work/$maven/pom.properties"
jar --update --no-compress --date "$(of_pom project.build.outputTimestamp)" --file "$work/out.jar" \
	--manifest "$work/manifest" -C "$work" native -C "$work" "$maven/pom.properties" \
	-C "$work" "$maven/pom.xml"
mv "$work/out.jar" "$jar"
