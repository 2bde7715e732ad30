package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/cache/memory"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sirupsen/logrus"
)

func TestMain(m *testing.M) {
	logrus.SetLevel(logrus.PanicLevel) // the registry's own log: the tests keep theirs
	testscript.Main(tidy{m}, programs)
}

// programs are what scripts can run by name.
var programs = map[string]func(){"toa": main, "helm": helm}

// tidy removes the slim binary after the tests.
type tidy struct{ *testing.M }

func (t tidy) Run() int {
	defer func() { _ = os.RemoveAll(slimDir) }()
	return t.M.Run()
}

// TestScripts are the promises of the command line, each through the door that
// users come in by.
func TestScripts(t *testing.T) {
	t.Parallel()
	params := scripts(t, "testdata", "SHARED="+absolute(t, sharedWorkspaces))
	alone := params.Setup
	params.Setup = func(env *testscript.Env) error { return errors.Join(alone(env), slimFirst(env)) }
	params.Condition = condition
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"registry":  startRegistry,
		"requests":  countRequests,
		"delete":    deleteImage,
		"reference": copyReference,
		"replace":   replaceText,
		"touch":     touchFiles,
		"mkfifo":    makePipe,
		"grow":      growFile,
		"copydir":   copyDirectory,
		"holds":     imageHolds,
		"object":    takeObject,
		"hole":      hole,

		"faults":      startFaults,
		"fault":       injectFault,
		"heal":        healFaults,
		"deletechild": deleteChild,
		"tokens":      startTokens,
		"login":       login,
		"gate":        gate,
		"retag":       retag,
		"image":       pushImage,
		"misindex":    misindex,
	}
	testscript.Run(t, params)
}

// scripts are those of a directory. Each has a cache and a home of its own, the
// examples, and variables besides, "NAME=value".
func scripts(t *testing.T, dir string, variables ...string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TOA_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("SHOP", absolute(t, "../../examples/shop"))
			env.Setenv("TRIAL", absolute(t, "../../extensions/testdata/trial"))
			env.Vars = append(env.Vars, variables...)
			return nil
		},
	}
}

// condition tells what this machine has.
func condition(name string) (bool, error) {
	switch name {
	case "shared":
		_, err := os.Stat(sharedWorkspaces)
		return err == nil, nil
	case "mounts":
		return exec.Command("unshare", "-Urm", "true").Run() == nil, nil
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
}

// sharedWorkspaces are other people's, which not every checkout has beside it.
const sharedWorkspaces = "../../../shared/workspaces"

func absolute(t *testing.T, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// accessLog is a registry's requests since they were last counted.
type accessLog struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (a *accessLog) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.lines = append(a.lines, r.Method+" "+r.URL.Path)
		a.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (a *accessLog) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	lines := a.lines
	a.lines = nil
	return lines
}

var logs sync.Map // work directory → *accessLog

// startRegistry starts the distribution registry and puts its address into
// $REGISTRY. It is in memory, or in a directory: then it remembers which blobs
// there are instead of looking.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: registry [DIR]")
	}
	ctx, cancel := context.WithCancel(context.Background())
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": {}, "delete": {"enabled": true}}}
	if len(args) == 1 {
		config.Storage = configuration.Storage{"filesystem": {"rootdirectory": ts.MkAbs(args[0])}, "cache": {"blobdescriptor": "inmemory"}}
	}
	config.Log.Level = "error"
	config.Log.AccessLog.Disabled = true
	log := &accessLog{}
	server := httptest.NewServer(log.wrap(handlers.NewApp(ctx, config)))
	ts.Defer(func() { server.Close(); cancel() })
	logs.Store(ts.Getenv("WORK"), log)
	ts.Setenv("REGISTRY", strings.TrimPrefix(server.URL, "http://"))
}

// countRequests checks how many requests the registry has had since the last
// time: "requests 0", "requests <= 6", "requests > 0".
func countRequests(ts *testscript.TestScript, neg bool, args []string) {
	value, ok := logs.Load(ts.Getenv("WORK"))
	if neg || !ok {
		ts.Fatalf("usage: registry, then requests [<=|>] N")
	}
	lines := value.(*accessLog).take()
	var want int
	compare := "="
	if len(args) == 2 {
		compare, args = args[0], args[1:]
	}
	if len(args) != 1 {
		ts.Fatalf("usage: requests [<=|>] N")
	}
	if _, err := fmt.Sscan(args[0], &want); err != nil {
		ts.Fatalf("requests: %v", err)
	}
	right := map[string]bool{"=": len(lines) == want, "<=": len(lines) <= want, ">": len(lines) > want}[compare]
	if !right {
		ts.Fatalf("the registry had %d requests, want %s %d:\n%s", len(lines), compare, want, strings.Join(lines, "\n"))
	}
}

// deleteImage deletes the manifest of the reference in a file.
func deleteImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: delete FILE")
	}
	reference := strings.TrimSpace(ts.ReadFile(args[0]))
	name, digest, _ := strings.Cut(reference, "@")
	host, repository, _ := strings.Cut(name[:strings.LastIndex(name, ":")], "/")
	request, err := http.NewRequest(http.MethodDelete, "http://"+host+"/v2/"+repository+"/manifests/"+digest, nil)
	ts.Check(err)
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	ts.Check(response.Body.Close())
	if response.StatusCode != http.StatusAccepted {
		ts.Fatalf("delete %s: %s", reference, response.Status)
	}
}

// copyReference takes one image's reference out of a build's output.
func copyReference(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: reference OUTPUT ID FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if id, reference, _ := strings.Cut(strings.TrimSpace(line), " "); id == args[1] {
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(reference+"\n"), 0o644))
			return
		}
	}
	ts.Fatalf("no reference of %s in %s", args[1], args[0])
}

// replaceText replaces the one occurrence of a text in a file.
func replaceText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace FILE OLD NEW")
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace
	old, now := unescape(args[1]), unescape(args[2])
	text := ts.ReadFile(args[0])
	if strings.Count(text, old) != 1 {
		ts.Fatalf("%s holds %q %d times", args[0], old, strings.Count(text, old))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, old, now, 1)), 0o644))
}
