#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a Maven repository with one release of vread-hdfs: the jar that ships, its POM, its sources,
# its Javadoc, and checksums (Maven 3 compares SHA-1 and MD5). Equal sources make equal files. There
# is no maven-metadata.xml: such a file lists all releases of a repository, and this folder has one.
# `make maven-repo` calls this script.
# Usage: maven-repo.sh FOLDER JAR VERSION
set -eu

folder=$1
jar=$(realpath "$2")
version=$3
here=$(cd "$(dirname "$0")" && pwd)
sources=$here/src/main/java
work=$(mktemp -d "$here/../../build/java/repo.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The time of all entries of jars.
date=$(sed -n 's|.*<project.build.outputTimestamp>\(.*\)<.*|\1|p' "$here/pom.xml")

# Makes JAR of all files in FOLDER, in an order and with times that do not change.
make_jar() (
	cd "$2"
	find . -type f | LC_ALL=C sort >"$work/list"
	jar --create --no-manifest --date "$date" --file "$1" "@$work/list"
)

# javadoc reads Hadoop's classes, too.
make_documentation() {
	"$here/build.sh" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath \
		-DincludeScope=compile -Dmdep.outputFile="$work/class-path"
	(cd "$sources" && find . -name package-info.java) |
		sed 's,^\./,,; s,/package-info.java$,,; s,/,.,g' | LC_ALL=C sort >"$work/packages"
	javadoc -quiet -notimestamp -Xdoclint:all,-missing -Werror --release 8 -encoding UTF-8 \
		-windowtitle "vread-hdfs $version" -doctitle "vread-hdfs $version" \
		-classpath "$(cat "$work/class-path")" -sourcepath "$sources" -d "$1" \
		"@$work/packages"
}

release=io/vread/vread-hdfs/$version
artifact=$work/new/$release/vread-hdfs-$version
mkdir -p "$work/new/$release"
cp "$jar" "$artifact.jar"
pom=META-INF/maven/io.vread/vread-hdfs/pom.xml
(cd "$work" && jar --extract --file "$jar" "$pom")
cp "$work/$pom" "$artifact.pom"
make_jar "$artifact-sources.jar" "$sources"
make_documentation "$work/javadoc"
make_jar "$artifact-javadoc.jar" "$work/javadoc"
for file in "$artifact"*; do
	for sum in md5 sha1 sha256 sha512; do
		"${sum}sum" "$file" | cut -d ' ' -f 1 | tr -d '\n' >"$file.$sum"
	done
done
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$work/new" "$folder"
