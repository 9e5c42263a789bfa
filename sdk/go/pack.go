//go:build ignore

// Writes the module in this folder as the zip file of a module proxy.
package main

import (
	"archive/zip"
	"io/fs"
	"log"
	"os"
	"path"
	"path/filepath"
)

func main() {
	out, prefix := os.Args[1], os.Args[2]
	file, err := os.Create(out)
	check(err)
	archive := zip.NewWriter(file)
	check(filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "pack.go" {
			return err
		}
		content, err := os.ReadFile(name)
		check(err)
		part, err := archive.Create(path.Join(prefix, filepath.ToSlash(name)))
		check(err)
		_, err = part.Write(content)
		return err
	}))
	check(archive.Close())
	check(file.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
