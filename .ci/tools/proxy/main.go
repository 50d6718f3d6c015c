// Command proxy makes a module proxy of files from the last commit of a repository: every
// module of its go.work, all at one version, in the form that GOPROXY=file://DIR reads.
// The zips are those that the go command makes of a published version.
//
//	proxy REPOSITORY VERSION DIR
package main

import (
	"fmt"
	"log"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("proxy: ")
	if len(os.Args) != 4 {
		log.Fatal("usage: proxy REPOSITORY VERSION DIR")
	}
	repository, version, dir := os.Args[1], os.Args[2], os.Args[3]
	text, err := os.ReadFile(filepath.Join(repository, "go.work"))
	if err != nil {
		log.Fatal(err)
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, use := range work.Use {
		if err := publish(repository, path.Clean(use.Path), version, dir); err != nil {
			log.Fatal(err)
		}
	}
}

// publish puts the module in a folder of the repository into dir.
func publish(repository, folder, version, dir string) error {
	text, err := os.ReadFile(filepath.Join(repository, folder, "go.mod"))
	if err != nil {
		return err
	}
	mod := module.Version{Path: modfile.ModulePath(text), Version: version}
	escaped, err := module.EscapePath(mod.Path)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, version, time.Now().UTC().Format(time.RFC3339))
	for name, text := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": []byte(info), version + ".mod": text} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	if folder == "." {
		folder = ""
	}
	if err := zip.CreateFromVCS(f, mod, repository, "HEAD", folder); err != nil {
		return err
	}
	return f.Close()
}
