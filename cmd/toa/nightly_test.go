package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"toa.io/toa/cache"
	"toa.io/toa/orchestrator"
)

// retag moves a tag behind toa's back: "retag FILE OTHER" has the tag of the
// reference in FILE name the image of the one in OTHER.
func retag(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: retag REFERENCE-FILE OTHER-REFERENCE-FILE")
	}
	to, err := orchestrator.ParseReference(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	from, err := orchestrator.ParseReference(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	source, err := name.NewDigest(from.Repository + "@" + from.Digest)
	ts.Check(err)
	index, err := remote.Index(source)
	ts.Check(err)
	tag, err := name.NewTag(to.Repository + ":" + to.Tag)
	ts.Check(err)
	ts.Check(remote.WriteIndex(tag, index))
}

// misindex has the index on this machine name another image for the key that was
// last published: "misindex ID FILE OTHER".
func misindex(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: misindex ID REFERENCE-FILE OTHER-REFERENCE-FILE")
	}
	of, err := orchestrator.ParseReference(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	other, err := orchestrator.ParseReference(strings.TrimSpace(ts.ReadFile(args[2])))
	ts.Check(err)
	index := cache.NewIndex(cache.OpenDB(filepath.Join(ts.Getenv("TOA_CACHE_DIR"), "db", "index.db"), nil))
	host := orchestrator.RegistryHost(of.Repository)
	key, err := index.Latest(host, of.Repository, args[0])
	ts.Check(err)
	entry := cache.Entry{Digest: other.Digest, VerifiedAt: time.Now()}
	ts.Check(index.Put(host, of.Repository, key, entry, args[0], nil))
}

// pushImage publishes an image of one platform, made elsewhere: "image base:1
// one" has a variable that says "one".
func pushImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: registry, then image NAME:TAG TEXT")
	}
	_, err := pushSaying(ts.Getenv("REGISTRY")+"/"+args[0], args[1])
	ts.Check(err)
}

// pushSaying publishes an image of one platform that has nothing but a variable.
func pushSaying(reference, text string) (digest string, err error) {
	made, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS: "linux", Architecture: "amd64", RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Env: []string{"SAYS=" + text}},
	})
	if err != nil {
		return "", err
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		return "", err
	}
	sum, err := made.Digest()
	return sum.String(), errors.Join(err, remote.Write(tag, made))
}
