package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/internal/faultproxy"
)

// crashRuns is how many runs are killed at random moments. Each takes two
// processes. Continuous integration makes 500, `make crash` 3,000.
const crashRuns = 60

// crashSite is a workspace of two images with a cache and a registry of its own.
type crashSite struct {
	dir     string
	home    string // where its cache is
	program string // what runs, where that is not what process takes
	app     http.Handler
	proxy   *faultproxy.Proxy
	version int
}

func newCrashSite(t *testing.T) *crashSite {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	config := &configuration.Configuration{Storage: configuration.Storage{
		"inmemory": {}, "maintenance": {"uploadpurging": map[any]any{"enabled": false}},
	}}
	config.Log.AccessLog.Disabled = true
	s := &crashSite{dir: t.TempDir(), home: t.TempDir(), app: handlers.NewApp(ctx, config)}
	s.proxy = faultproxy.Start(s.app)
	t.Cleanup(func() { s.proxy.Close(); cancel() })
	writeFiles(t, filepath.Join(s.dir, "shop"), map[string]string{
		"context.toa.yaml":               "name: shop\namqp: amqp://broker\nresources: null\nregistry: {platforms: [linux/amd64], build: {image: scratch}}\n",
		"components/a/manifest.toa.yaml": "name: a\n",
		"components/b/manifest.toa.yaml": "name: b\n",
	})
	s.edit(t)
	return s
}

// edit changes both images.
func (s *crashSite) edit(t *testing.T) {
	t.Helper()
	s.version++
	writeFiles(t, filepath.Join(s.dir, "shop"), map[string]string{
		"components/a/operations/get.js": fmt.Sprint("a", s.version),
		"components/b/operations/get.js": fmt.Sprint("b", s.version),
	})
}

// push is a process of its own.
func (s *crashSite) push(t *testing.T) (cmd *exec.Cmd, out, log *bytes.Buffer) {
	t.Helper()
	cmd, out, log = process(t, s.home, "push", "-C", filepath.Join(s.dir, "shop"), "--registry", s.proxy.Host)
	if s.program != "" {
		cmd.Path = s.program
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, log
}

// process is toa with its home and cache below a directory: the binary that
// TOA_TEST_BINARY names, or the slim one of these tests.
func process(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out, log *bytes.Buffer) {
	t.Helper()
	path := os.Getenv("TOA_TEST_BINARY")
	if path == "" {
		dir, err := slim()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(dir, "toa")
	}
	out, log = &bytes.Buffer{}, &bytes.Buffer{}
	return &exec.Cmd{
		Path: path, Args: append([]string{"toa"}, args...), Stdout: out, Stderr: log,
		Env: []string{"HOME=" + dir, "TOA_CACHE_DIR=" + filepath.Join(dir, "cache"), "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")},
	}, out, log
}

var crashReference = regexp.MustCompile(`(?m)^composition/\S+ [^/]+/(\S+):\w+@(sha256:\w{64})$`)

// settle pushes again, and wants all that the run says to be published to be in
// the registry: what it took from the index too. It returns how long it took.
func (s *crashSite) settle(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	cmd, out, log := s.push(t)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("push after a crash: %v\n%s", err, log)
	}
	took := time.Since(began)
	found := crashReference.FindAllStringSubmatch(out.String(), -1)
	if len(found) != 2 {
		t.Fatalf("push after a crash tells of %d images:\n%s", len(found), out)
	}
	for _, one := range found {
		s.readable(t, one[1], one[2])
	}
	return took
}

// readable reads a manifest and all of its blobs off the registry itself.
func (s *crashSite) readable(t *testing.T, repository, digest string) {
	t.Helper()
	var m struct {
		Config descriptor   `json:"config"`
		Layers []descriptor `json:"layers"`
	}
	raw := s.get(t, repository+"/manifests/"+digest)
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatalf("%s@%s: %v", repository, digest, err)
	}
	for _, blob := range append(m.Layers, m.Config) {
		if len(s.get(t, repository+"/blobs/"+blob.Digest)) == 0 {
			t.Errorf("%s@%s: blob %s is empty", repository, digest, blob.Digest)
		}
	}
}

func (s *crashSite) get(t *testing.T, path string) []byte {
	t.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "/v2/"+path, nil)
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json")
	s.app.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Errorf("the index has what the registry lacks: GET %s: %d", path, answer.Code)
	}
	return answer.Body.Bytes()
}

// A run that is killed at any of its requests, before the registry has it or
// after, leaves nothing behind that is not so.
func TestRunsKilledAtEachRequest(t *testing.T) {
	t.Parallel()
	s := newCrashSite(t)
	s.settle(t)
	before := len(s.proxy.Requests(""))
	s.edit(t)
	s.settle(t)
	requests := len(s.proxy.Requests("")) - before
	if requests < 8 {
		t.Fatalf("a run sends %d requests only", requests)
	}
	for nth := 1; nth <= requests; nth++ {
		for _, fault := range []func(func()) faultproxy.Fault{faultproxy.Call, faultproxy.CallAfter} {
			s.edit(t)
			started := make(chan *exec.Cmd, 1)
			s.proxy.Inject(faultproxy.Rule{From: nth, Count: 1, Fault: fault(func() { _ = (<-started).Process.Kill() })})
			cmd, _, log := s.push(t)
			started <- cmd
			if err := cmd.Wait(); err == nil {
				t.Errorf("request %d: the run was not killed:\n%s", nth, log)
			}
			s.proxy.Heal("")
			s.settle(t)
		}
	}
}

func TestRunsKilledAtRandom(t *testing.T) {
	t.Parallel()
	runs := wanted(t, "TOA_TEST_CRASH", crashRuns)
	program := undetected(t)
	const sites = 4
	var group errgroup.Group
	for range sites {
		s := newCrashSite(t)
		s.program = program
		group.Go(func() error {
			t.Run("site", func(t *testing.T) { s.crash(t, runs/sites) })
			return nil
		})
	}
	_ = group.Wait()
}

// undetected is what is started a thousand times: the binary that TOA_TEST_BINARY
// names, or else that of the failpoints, of which none is armed here. The race
// detector takes longer to start than a run takes, and has looked at the same runs
// when they were killed at each of their requests.
func undetected(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TOA_TEST_BINARY"); path != "" {
		return path
	}
	path, err := failpoints()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// wanted is a number that a variable may state.
func wanted(t *testing.T, variable string, usual int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *crashSite) crash(t *testing.T, runs int) {
	usual := s.settle(t)
	killed := 0
	for range runs {
		s.edit(t)
		cmd, _, _ := s.push(t)
		timer := time.AfterFunc(rand.N(usual), func() { _ = cmd.Process.Kill() })
		if err := cmd.Wait(); err != nil {
			killed++
		}
		timer.Stop()
		usual = (usual + s.settle(t)) / 2
	}
	if killed < runs/4 {
		t.Errorf("%d of %d runs were killed", killed, runs)
	}
	t.Log(strings.TrimSpace(fmt.Sprintf("%d of %d runs were killed, of %s each", killed, runs, usual)))
}
