package buildkit_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"toa.io/toa/images"
)

// Build arguments are seen by lines that run, and by nobody else: not by those
// who read the image, its history or what was said of the build (C81).
func TestArgumentsStayOutOfImages(t *testing.T) {
	const canary = "canary-2f9d81c0"
	t.Setenv("NPM_TOKEN", canary)
	b := newBench(t)
	b.builder.Cache = b.registry + "/shop/buildcache"
	step := b.dependencies(t, "one", `echo "the token is $NPM_TOKEN"; echo -n "$NPM_TOKEN" | wc -c > /length`)
	step.Recipe.Arguments = []string{"NPM_TOKEN"}
	made := b.publish(t, b.builder, step)
	image := pull(t, made, host)
	held := content(t, image)
	if got := held["length"]; !strings.HasSuffix(got, `"15\n"`) {
		t.Errorf("the line saw a value of another length: %s", got)
	}
	file, err := json.Marshal(configOf(t, image))
	if err != nil {
		t.Fatal(err)
	}
	said := b.said()
	if !strings.Contains(said, "the token is ***") {
		t.Errorf("the line's output is not passed on:\n%s", said)
	}
	for what, text := range map[string]string{"config and history": string(file), "output": said, "files": all(held)} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the value: %s", what, text)
		}
	}
	for _, name := range []string{"NPM_TOKEN-", "secrets"} {
		if strings.Contains(string(file), name) {
			t.Errorf("config and history hold %q: %s", name, file)
		}
	}
}

// Arguments that are no secrets are build arguments as any other, and stand in
// the history; each line sees them.
func TestPlainArguments(t *testing.T) {
	t.Setenv("STAGE", "plain-77c1")
	b := newBench(t)
	step := b.dependencies(t, "one", `echo -n "$STAGE" > /stage`, `echo -n "$STAGE" > /again`)
	step.Recipe.Arguments, step.Recipe.Plain = []string{"STAGE"}, true
	image := pull(t, b.publish(t, b.builder, step), host)
	held := content(t, image)
	for _, name := range []string{"stage", "again"} {
		if !strings.HasSuffix(held[name], `"plain-77c1"`) {
			t.Errorf("%s: the line saw %s", name, held[name])
		}
	}
	file := configOf(t, image)
	if history, err := json.Marshal(file.History); err != nil || !strings.Contains(string(history), "STAGE=plain-77c1") {
		t.Errorf("the argument is not in the history: %s, %v", history, err)
	}
	if env := strings.Join(file.Config.Env, "\n"); strings.Contains(env, "STAGE") {
		t.Errorf("the argument is a variable of the image: %s", env)
	}
}

func all(held map[string]string) string {
	var text strings.Builder
	for path, what := range held {
		if path != "bin/busybox" {
			text.WriteString(path + " " + what + "\n")
		}
	}
	return text.String()
}

// A line is run again where an argument has another value, and only then.
func TestChangedArgumentRunsAgain(t *testing.T) {
	b := newBench(t)
	step := b.dependencies(t, "one", `echo -n "$CHANNEL" > /channel`)
	step.Recipe.Arguments = []string{"CHANNEL"}
	for i, value := range []string{"stable", "stable", "beta", "stable"} {
		t.Setenv("CHANNEL", value)
		step.Reference.Tag = "deps-" + string(rune('a'+i))
		got := content(t, pull(t, b.publish(t, b.builder, step), host))["channel"]
		if !strings.HasSuffix(got, `"`+value+`"`) {
			t.Errorf("run %d: got %s, want %q", i+1, got, value)
		}
		if cached := strings.Contains(b.said(), ": cached"); i == 1 && !cached {
			t.Error("nothing was found in the cache though nothing has changed")
		}
	}
}

func TestUnsetArgument(t *testing.T) {
	t.Parallel()
	b := newBenchAt(t, "unix:///nowhere/at/all")
	step := b.dependencies(t, "one", "true")
	step.Recipe.Arguments = []string{"SURELY_NOT_SET_ANYWHERE"}
	_, err := b.builder.Build(t.Context(), step, nil)
	var unset *images.UnsetArgumentError
	if !errors.As(err, &unset) || unset.Name != "SURELY_NOT_SET_ANYWHERE" || hint(err) == "" {
		t.Errorf("Build: %v (hint %q), want an *UnsetArgumentError before any engine is asked", err, hint(err))
	}
}
