package buildkit

import (
	"errors"
	"testing"
)

// with is an engine that has said what it is.
func with(address string, jobs int, stated bool, platforms ...string) *engine {
	e := &engine{address: Address{URL: address}, asked: true, platforms: platforms, jobs: jobs}
	if stated {
		e.address.Platforms = platforms
	}
	return e
}

func TestTake(t *testing.T) {
	broken := &engine{asked: true, err: errors.New("no answer")}
	for name, row := range map[string]struct {
		engines  []*engine
		platform string
		runs     bool
		want     string
	}{
		"the one that is native":       {[]*engine{with("a", 0, false, "linux/amd64", "linux/arm64"), with("b", 5, false, "linux/arm64")}, "linux/arm64", true, "b"},
		"an emulation before none":     {[]*engine{with("a", 0, false, "linux/amd64"), with("b", 9, false, "linux/amd64", "linux/arm64")}, "linux/arm64", true, "b"},
		"the one with less to do":      {[]*engine{with("a", 2, false, "linux/amd64"), with("b", 1, false, "linux/amd64")}, "linux/amd64", true, "b"},
		"the first of equals":          {[]*engine{with("a", 1, false, "linux/amd64"), with("b", 1, false, "linux/amd64")}, "linux/amd64", true, "a"},
		"what the address states":      {[]*engine{with("a", 0, false, "linux/amd64", "linux/arm64"), with("b", 3, true, "linux/amd64", "linux/arm64")}, "linux/arm64", true, "b"},
		"any where nothing runs":       {[]*engine{with("a", 0, false, "linux/amd64")}, "linux/s390x", false, "a"},
		"none where something runs":    {[]*engine{with("a", 0, false, "linux/amd64")}, "linux/s390x", true, ""},
		"a variant that says nothing":  {[]*engine{with("a", 0, false, "linux/amd64"), with("b", 0, false, "linux/arm64")}, "linux/arm64/v8", true, "b"},
		"not one that does not answer": {[]*engine{broken, with("b", 0, false, "linux/amd64")}, "linux/amd64", true, "b"},
		"nobody answers":               {[]*engine{broken, broken}, "linux/amd64", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var f fleet
			got, release, err := f.take(t.Context(), row.engines, row.platform, row.runs)
			if row.want == "" {
				if err == nil {
					t.Errorf("take(%s) = %s, want an error", row.platform, got.address)
				}
				return
			}
			if err != nil || got.address.URL != row.want {
				t.Fatalf("take(%s) = %v, %v, want %s", row.platform, got, err, row.want)
			}
			jobs := got.jobs
			release()
			if got.jobs != jobs-1 {
				t.Errorf("%d jobs after release, want %d", got.jobs, jobs-1)
			}
		})
	}
}

// Jobs are spread over equals.
func TestSpread(t *testing.T) {
	var f fleet
	engines := []*engine{with("a", 0, false, "linux/amd64"), with("b", 0, false, "linux/amd64"), with("c", 0, false, "linux/amd64")}
	for range 9 {
		if _, _, err := f.take(t.Context(), engines, "linux/amd64", true); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range engines {
		if e.jobs != 3 {
			t.Errorf("%s has %d jobs of 9, want 3", e.address, e.jobs)
		}
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]bool{
		"v0.28.1": true, "0.28.1": true, "v0.28.0": false, "v0.34.2-dirty": true, "v1.0.0+x": true, "v0.9.99": false,
		"v0.28": false, "": false, "v0.28.x": false, "v0.-1.0": false, "unknown": false,
	} {
		found, ok := parseVersion(text)
		if usable := ok && !found.before(oldest); usable != want {
			t.Errorf("version %q: usable is %t, want %t", text, usable, want)
		}
	}
}
