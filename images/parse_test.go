package images

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"toa.io/toa/cache"
	"toa.io/toa/test/corpus"
)

func TestParseChallenge(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{`Bearer realm="https://a/token",service="b",scope="repository:c:pull,push"`, `bearer map[realm:https://a/token scope:repository:c:pull,push service:b]`},
		{`Basic realm=x`, `basic map[realm:x]`},
		{`bearer  Realm = "x"`, `bearer map[]`},
		{`Bearer realm="a\"b", x=y`, `bearer map[realm:a"b x:y]`},
		{`Bearer realm="open`, `bearer map[]`},
		{`Negotiate`, `negotiate map[]`},
		{``, ` map[]`},
	} {
		got := parseChallenge(row.line)
		if text := fmt.Sprint(got.Scheme, " ", got.Parameters); text != row.want {
			t.Errorf("parseChallenge(%s): got %s, want %s", row.line, text, row.want)
		}
	}
}

func TestChallengePrefersBearer(t *testing.T) {
	for want, lines := range map[string][]string{
		"bearer": {`Basic realm="x"`, `Bearer realm="y"`},
		"basic":  {`Negotiate`, `Basic realm="x"`},
	} {
		if got := challengeOf(http.Header{"Www-Authenticate": lines}); got == nil || got.Scheme != want {
			t.Errorf("challengeOf(%q): got %+v, want %s", lines, got, want)
		}
	}
	if got := challengeOf(http.Header{"Www-Authenticate": {"Negotiate"}}); got != nil {
		t.Errorf("challengeOf(Negotiate): got %+v, want nil", got)
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{`Bearer realm="https://a/token",service="b"`, `Basic realm=x`, `Bearer a="\`, `x ,,=`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for name := range parseChallenge(line).Parameters {
			if name == "" || strings.ContainsAny(name, " \t,\"") {
				t.Errorf("parseChallenge(%q): parameter %q", line, name)
			}
		}
	})
}

func FuzzManifest(f *testing.F) {
	digest := `"sha256:` + strings.Repeat("a", 64) + `"`
	f.Add(`{"schemaVersion":2,"config":{"digest":` + digest + `,"size":1},"layers":[{"digest":` + digest + `,"size":-1}]}`)
	f.Add(`{"schemaVersion":2,"manifests":[]}`)
	f.Add(`{"schemaVersion":1}`)
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := parseManifest([]byte(raw))
		if err == nil && slices.ContainsFunc(m.Layers, func(d v1.Descriptor) bool { return d.Size < 0 }) {
			t.Errorf("parseManifest(%q): a layer has a negative size", raw)
		}
	})
}

func FuzzNPMLock(f *testing.F) {
	f.Add(`{"packages":{"":{},"node_modules/a":{"os":"linux","cpu":["!x64"],"hasInstallScript":true,"link":true,"resolved":"file:../a"}}}`)
	f.Add(`{"packages":null}`)
	f.Add(`{"packages":{"lib/a/node_modules/b":{},"node_modules/r":{"optionalDependencies":{"r-linux-x64":"1"}}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		lock, err := parseNPMLock([]byte(raw))
		if err != nil {
			return
		}
		target := npmTarget{os: "linux", cpu: "x64", libc: "musl"}
		names := lock.scripts(target)
		if !slices.IsSorted(names) || len(names) > len(lock.Packages) {
			t.Errorf("scripts of %q: %q", raw, names)
		}
		if lack := lock.lacks(target); lack != nil && (len(lack.Missing) == 0 || lack.Package == "") {
			t.Errorf("lacks of %q: %+v", raw, lack)
		}
		_ = lock.portable()
	})
}

// A lockfile is rewritten so that no local package is a link, or it is refused;
// what was rewritten is left as it is the next time.
func FuzzRelock(f *testing.F) {
	corpus.Add(f)
	f.Add(`{"packages":{"":{"dependencies":{"near":"file:../near"}},"../near":{"dev":true},"node_modules/near":{"resolved":"../near","link":true}}}`)
	f.Add(`{"dependencies":{},"packages":{"../near":{},"../near/node_modules/left":{},"node_modules/near":{"link":true,"resolved":"../near"}}}`)
	f.Add(`{"packages":{"node_modules/near":{},"node_modules/x/node_modules/near":{"resolved":"file:a.tgz"},"node_modules/other":{"resolved":"","link":true}}}`)
	f.Fuzz(func(t *testing.T, raw string) {
		all := locals{"near": {file: "near.tar", manifest: fields{"version": encode("1.0.0"), "dependencies": encode(map[string]string{"left": "1"})}}}
		made, err := all.relock([]byte(raw))
		if err != nil {
			return
		}
		packages, err := packagesOf(made)
		if err != nil || packages["node_modules/near"].resolved() != "file:near.tar" {
			t.Fatalf("relock(%s): %s, %v", raw, made, err)
		}
		for at, p := range packages {
			if p.is("link") {
				t.Errorf("relock(%s): %s is a link", raw, at)
			}
		}
		if again, err := all.relock(made); err != nil || string(again) != string(made) {
			t.Errorf("relock(%s): %s, then %s, %v", raw, made, again, err)
		}
	})
}

func TestListAllows(t *testing.T) {
	for _, row := range []struct {
		list textList
		want bool
	}{
		{nil, true},
		{textList{"linux"}, true},
		{textList{"darwin"}, false},
		{textList{"!linux"}, false},
		{textList{"!win32"}, true},
		{textList{"darwin", "linux"}, true},
		{textList{"any"}, true},
	} {
		if got := row.list.allows("linux"); got != row.want {
			t.Errorf("%q.allows(linux): got %t", row.list, got)
		}
	}
}

func TestNPMTarget(t *testing.T) {
	alpine := v1.ConfigFile{History: []v1.History{{CreatedBy: "ADD alpine-minirootfs-3.22.tar.gz / # buildkit"}}}
	for _, row := range []struct {
		platform  v1.Platform
		reference string
		base      v1.ConfigFile
		want      npmTarget
	}{
		{v1.Platform{OS: "linux", Architecture: "amd64"}, "node:24", v1.ConfigFile{}, npmTarget{"linux", "x64", "glibc"}},
		{v1.Platform{OS: "linux", Architecture: "arm64"}, "node:24-alpine", v1.ConfigFile{}, npmTarget{"linux", "arm64", "musl"}},
		{v1.Platform{OS: "linux", Architecture: "arm", Variant: "v7"}, "runtime:1", alpine, npmTarget{"linux", "arm", "musl"}},
		{v1.Platform{OS: "linux", Architecture: "386"}, "x", v1.ConfigFile{}, npmTarget{"linux", "ia32", "glibc"}},
	} {
		if got := npmTargetOf(row.platform, row.reference, row.base); got != row.want {
			t.Errorf("npmTargetOf(%v, %s): got %v, want %v", row.platform, row.reference, got, row.want)
		}
	}
}

// C79: a lockfile made on another system is told from one that lacks nothing.
func TestLockThatLacksAPlatform(t *testing.T) {
	part := func(os, cpu, libc string) npmPackage {
		p := npmPackage{OS: textList{os}, CPU: textList{cpu}}
		if libc != "" {
			p.Libc = textList{libc}
		}
		return p
	}
	rollup := npmPackage{Optional: map[string]string{
		"@rollup/rollup-darwin-arm64": "4", "@rollup/rollup-linux-x64-gnu": "4", "@rollup/rollup-linux-x64-musl": "4", "@rollup/rollup-linux-arm64-gnu": "4", "fsevents": "2",
	}}
	x64musl, x64gnu := npmTarget{"linux", "x64", "musl"}, npmTarget{"linux", "x64", "glibc"}
	for _, row := range []struct {
		name     string
		packages map[string]npmPackage
		target   npmTarget
		want     string
	}{
		{"made on a Mac", map[string]npmPackage{"node_modules/rollup": rollup, "node_modules/@rollup/rollup-darwin-arm64": part("darwin", "arm64", "")}, x64musl, "[@rollup/rollup-linux-x64-musl]"},
		{"the other C library", map[string]npmPackage{"node_modules/rollup": rollup, "node_modules/@rollup/rollup-linux-x64-gnu": part("linux", "x64", "glibc")}, x64musl, "[@rollup/rollup-linux-x64-musl]"},
		{"made for this", map[string]npmPackage{"node_modules/rollup": rollup, "node_modules/@rollup/rollup-linux-x64-gnu": part("linux", "x64", "glibc")}, x64gnu, ""},
		{"nested", map[string]npmPackage{"node_modules/vite/node_modules/rollup": rollup, "node_modules/vite/node_modules/@rollup/rollup-linux-x64-gnu": part("linux", "x64", "glibc")}, x64gnu, ""},
		{"one word for two", map[string]npmPackage{"node_modules/sharp": {Optional: map[string]string{"@img/sharp-linuxmusl-x64": "1", "@img/sharp-linux-x64": "1"}}}, x64musl, "[@img/sharp-linux-x64 @img/sharp-linuxmusl-x64]"},
		{"only for Macs", map[string]npmPackage{"node_modules/chokidar": {Optional: map[string]string{"fsevents": "2"}}}, x64gnu, ""},
		{"for development", map[string]npmPackage{"node_modules/rollup": {Dev: true, Optional: rollup.Optional}}, x64gnu, ""},
	} {
		lack := npmLock{Packages: row.packages}.lacks(row.target)
		got := ""
		if lack != nil {
			got = fmt.Sprint(lack.Missing)
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestSamePlatform(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"linux/arm64", "linux/arm64/v8", true},
		{"linux/arm", "linux/arm/v7", true},
		{"linux/arm/v6", "linux/arm", false},
		{"linux/amd64", "linux/amd64/v3", false},
		{"linux/amd64", "windows/amd64", false},
	} {
		a, errA := parsePlatform(row.a)
		b, errB := parsePlatform(row.b)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		if got := samePlatform(a, b); got != row.want {
			t.Errorf("samePlatform(%s, %s): got %t", row.a, row.b, got)
		}
	}
}

// containerd/containerd#3631, moby/moby#31326
func TestWhoIsSpokenToWithoutTLS(t *testing.T) {
	client := &Client{Insecure: []string{"registry.local", "other:5000"}}
	for host, want := range map[string]string{
		"localhost": "http", "localhost:5000": "http", "x.localhost:1": "http", "127.0.0.1:5000": "http", "127.8.8.8": "http",
		"[::1]:5000": "http", "host.docker.internal:5000": "http", "registry.local:5000": "http", "registry.local": "http",
		"other:5000": "http", "other": "https", "10.0.0.1:5000": "https", "192.168.1.1": "https", "ghcr.io": "https", "localhost.example.com": "https",
	} {
		if got := client.scheme(host); got != want {
			t.Errorf("scheme(%s): got %s, want %s", host, got, want)
		}
	}
}

func TestRetryable(t *testing.T) {
	for _, row := range []struct {
		err  error
		want bool
	}{
		{io.EOF, true},
		{fmt.Errorf("x: %w", io.ErrUnexpectedEOF), true},
		{syscall.ECONNRESET, true},
		{syscall.ECONNREFUSED, false},
		{cache.ErrDamaged, true},
		{&RegistryError{Status: 503}, true},
		{&RegistryError{Status: 401}, false},
		{errors.New("x509: certificate signed by unknown authority"), false},
	} {
		if got := retryable(nil, row.err); got != row.want {
			t.Errorf("retryable(%v): got %t", row.err, got)
		}
	}
}

func TestMergeEnv(t *testing.T) {
	got := mergeEnv([]string{"PATH=/bin", "A=1", "AB=2"}, []string{"B=3", "A=4", "B=5"})
	if want := []string{"PATH=/bin", "A=4", "AB=2", "B=5"}; !slices.Equal(got, want) {
		t.Errorf("mergeEnv: got %q, want %q", got, want)
	}
}

func TestLinesAreCut(t *testing.T) {
	var got []string
	l := &lines{stream: "stdout", to: func(_, text string) { got = append(got, text) }}
	for _, piece := range []string{"a", "b\nc\r\n", "\n", strings.Repeat("x", maxLine), "d"} {
		if _, err := l.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	if want := []string{"ab", "c", "", strings.Repeat("x", maxLine), "d"}; !slices.Equal(got, want) {
		t.Errorf("lines: got %.40q, want %.40q", got, want)
	}
}
