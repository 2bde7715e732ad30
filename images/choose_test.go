package images_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// counting is an engine that only counts what it is asked for.
type counting struct{ builds atomic.Int32 }

func (c *counting) Build(context.Context, orchestrator.Step, []orchestrator.Result) (orchestrator.Artifact, error) {
	c.builds.Add(1)
	return &images.Image{}, nil
}

func TestChooserUsesAnEngineForWhatNeedsIt(t *testing.T) {
	plain := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	running := plain
	running.Recipe.Runs = []templates.Run{{Line: "apk add curl", Owner: "store.orders"}}
	scripts := dependencies(t, `{"dependencies":{"compiled":"1"}}`,
		`{"packages":{"node_modules/compiled":{"hasInstallScript":true}}}`, "")
	noNPM := dependencies(t, `{"dependencies":{"left":"1"}}`, `{"packages":{"node_modules/left":{}}}`, "")
	ignored := dependencies(t, `{}`, `{"packages":{}}`, "")
	ignored.Recipe.Installs[0].Scripts = "ignore"
	const reason = `run line "apk add curl" (asked for by store.orders) must run inside the image`
	for _, row := range []struct {
		name     string
		step     orchestrator.Step
		buildkit bool
		docker   bool
		used     string
		why      string
		notice   string
	}{
		{"nothing to run", plain, true, true, "native", "native", ""},
		{"a run line", running, true, true, "buildkit", "buildkit: " + reason, ""},
		{"a run line, Docker only", running, false, true, "docker", "docker: " + reason, ""},
		{"install scripts", scripts, true, false, "buildkit", "native, or buildkit if a package has an install script", "install scripts of compiled"},
		{"no npm here", noNPM, false, true, "docker", "native, or docker if a package has an install script", "no-such-npm is not on this machine"},
		{"a run line, no engine", running, false, false, "", "no builder: " + reason, ""},
		{"install scripts, no engine", scripts, false, false, "", "native, unless a package has an install script", ""},
		{"scripts that are ignored, no npm", ignored, true, false, "buildkit", "native", "no-such-npm is not on this machine"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, t.TempDir())
			b.native.NPM = "no-such-npm"
			seen := &observer{}
			c := &images.Chooser{Native: b.native, Observe: seen.observe}
			engines := map[string]*counting{"buildkit": {}, "docker": {}}
			if row.buildkit {
				c.BuildKit = engines["buildkit"]
			}
			if row.docker {
				c.Docker = engines["docker"]
			}
			same(t, "Why", c.Why(row.step), row.why)
			_, err := c.Build(t.Context(), row.step, nil)
			for name, engine := range engines {
				same(t, "builds of "+name, engine.builds.Load() > 0, name == row.used)
			}
			if (row.notice == "") != (seen.text() == "") || !strings.Contains(seen.text(), row.notice) {
				t.Errorf("notice: got %q, want %q", seen.text(), row.notice)
			}
			var none *images.NoEngineError
			if errors.As(err, &none) != (row.used == "") {
				t.Fatalf("Build: got %v", err)
			}
			if none != nil && (!strings.Contains(none.Hint(), "--builder-address") || !strings.Contains(none.Error(), string(row.step.ID))) {
				t.Errorf("Build: got %v with hint %q", none, none.Hint())
			}
		})
	}
}

// What the native builder can do and fails at is not tried elsewhere.
func TestChooserPassesFailuresOn(t *testing.T) {
	b := newBench(t, t.TempDir())
	engine := &counting{}
	c := &images.Chooser{Native: b.native, Docker: engine}
	s := step(t, "shop/x", "t", map[string]string{"a": files{"a": "1"}.write(t, t.TempDir())})
	files{"a": "22"}.write(t, s.Sources[0].Dir)
	if _, err := c.Build(t.Context(), s, nil); err == nil || engine.builds.Load() != 0 {
		t.Errorf("Build: got %v and %d builds of the engine", err, engine.builds.Load())
	}
}
