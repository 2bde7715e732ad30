package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// touchFiles gives everything below a directory another time.
func touchFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: touch DIR")
	}
	when := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, when, when))
	}))
}

func makePipe(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mkfifo PATH")
	}
	ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(args[0])), 0o755))
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

// growFile makes a sparse file of a size in MiB.
func growFile(ts *testscript.TestScript, neg bool, args []string) {
	var size int64
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grow PATH MIB")
	}
	_, err := fmt.Sscan(args[1], &size)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size<<20))
}

func copyDirectory(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: copydir FROM TO")
	}
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(args[0])))
}

// takeObject takes one object out of a file of manifests: "object manifests
// Deployment/composition-edge out".
func takeObject(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: object MANIFESTS KIND/NAME FILE")
	}
	kind, name, _ := strings.Cut(args[1], "/")
	for document := range strings.SplitSeq(ts.ReadFile(args[0]), "\n---\n") {
		plain := strings.ReplaceAll(document, `"`, "")
		if strings.Contains(plain, "\nkind: "+kind+"\n") && strings.Contains(plain, "\n  name: "+name+"\n") {
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(document+"\n"), 0o644))
			return
		}
	}
	ts.Fatalf("there is no %s in %s", args[1], args[0])
}

// hole starts a server that takes connections and never answers, and puts its
// address into $REGISTRY. The file $WORK/connected appears with the first one.
func hole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: hole")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = listener.Close() })
	ts.Setenv("REGISTRY", listener.Addr().String())
	connected := ts.MkAbs("connected")
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = os.WriteFile(connected, nil, 0o644)
			defer connection.Close() //nolint:gocritic // when the test ends
		}
	}()
}

// imageHolds pulls an image (the first platform of an index) with nothing but
// HTTP, and checks that /composition holds exactly the files that
// `toa graph inputs` lists.
func imageHolds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: holds REFERENCE-FILE INPUTS-FILE")
	}
	var want []string
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		label, _, _ := strings.Cut(line, "\t")
		if path, ok := strings.CutPrefix(label, "file "); ok {
			want = append(want, "composition/"+path)
		}
	}
	got, err := pull(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		ts.Fatalf("image holds %q\ninputs are %q", got, want)
	}
	if len(want) == 0 {
		ts.Fatalf("no files at all")
	}
}

type descriptor struct {
	Digest string `json:"digest"`
}

type manifest struct {
	Manifests []descriptor `json:"manifests"`
	Layers    []descriptor `json:"layers"`
}

// pull lists the files of an image's layers, sorted.
func pull(reference string) ([]string, error) {
	name, digest, _ := strings.Cut(reference, "@")
	host, repository, _ := strings.Cut(name[:strings.LastIndex(name, ":")], "/")
	base := "http://" + host + "/v2/" + repository
	var m manifest
	if err := getJSON(base+"/manifests/"+digest, &m); err != nil {
		return nil, err
	}
	if len(m.Manifests) > 0 {
		digest = m.Manifests[0].Digest
		m = manifest{}
		if err := getJSON(base+"/manifests/"+digest, &m); err != nil {
			return nil, err
		}
	}
	var files []string
	for _, layer := range m.Layers {
		response, err := http.Get(base + "/blobs/" + layer.Digest)
		if err != nil {
			return nil, err
		}
		names, err := listLayer(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		files = append(files, names...)
	}
	slices.Sort(files)
	return files, nil
}

func getJSON(url string, into any) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header["Accept"] = []string{
		"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json",
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

func listLayer(r io.Reader) ([]string, error) {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	var names []string
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeDir {
			names = append(names, strings.TrimPrefix(header.Name, "/"))
		}
	}
}
