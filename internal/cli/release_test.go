package cli

import (
	"errors"
	"testing"
	"time"

	"toa.io/toa/release"
	"toa.io/toa/release/cluster"
	"toa.io/toa/workspace"
)

// No cluster is ever taken for granted: it is named, or the run ends with a package.
func TestEnding(t *testing.T) {
	for name, row := range map[string]struct {
		kind, context string
		inPod         bool
		want, leads   string // empty want: refused
	}{
		"auto, nothing named":             {kind: releaseAuto, want: releasePackage},
		"auto, in a pod, nothing named":   {kind: releaseAuto, inPod: true, want: releasePackage},
		"auto, a context is named":        {kind: releaseAuto, context: "prod", want: releaseApply, leads: "prod"},
		"auto, the own cluster is named":  {kind: releaseAuto, context: release.InCluster, want: releaseApply, leads: release.InCluster},
		"apply, nothing named":            {kind: releaseApply},
		"apply, in a pod":                 {kind: releaseApply, inPod: true, want: releaseApply, leads: release.InCluster},
		"apply, in a pod, another named":  {kind: releaseApply, inPod: true, context: "prod", want: releaseApply, leads: "prod"},
		"package, though a cluster named": {kind: releasePackage, context: "prod", want: releasePackage, leads: "prod"},
	} {
		g := &globals{io: IO{Env: func(string) string {
			if row.inPod {
				return "10.0.0.1"
			}
			return ""
		}}}
		settings := workspace.Release{Context: row.context}
		got, err := g.ending(row.kind, &settings)
		var unnamed *release.UnnamedError
		if got != row.want || errors.As(err, &unnamed) != (row.want == "") || row.want != "" && settings.Context != row.leads {
			t.Errorf("%s: %q to %q, %v", name, got, settings.Context, err)
		}
	}
}

func TestFlagsAreOverSettings(t *testing.T) {
	settings := workspace.Release{Namespace: "shop", Context: "prod", Timeout: time.Minute, Atomic: true, History: 5, Registry: "r"}
	if got := (&releaseFlags{}).over(settings); got != settings {
		t.Errorf("no flags: %+v", got)
	}
	flags := releaseFlags{kubeContext: "test", namespace: "other", wait: true, timeout: time.Hour}
	want := workspace.Release{Namespace: "other", Context: "test", Wait: true, Timeout: time.Hour, Atomic: true, History: 5, Registry: "r"}
	if got := flags.over(settings); got != want {
		t.Errorf("flags: %+v", got)
	}
}

func TestSilentServerIsNoMistakeOfSettings(t *testing.T) {
	if isMistake(untouched(&cluster.UnreachableError{Server: "https://cluster.test", Err: errors.New("refused")})) {
		t.Error("a server that does not answer is a mistake of the user's")
	}
	for _, err := range []error{
		untouched(&cluster.SecretsError{Missing: []string{"a/b"}}), &release.UnnamedError{}, &cluster.ContextError{},
		&release.Failure{Configuration: true},
	} {
		if !isMistake(err) {
			t.Errorf("%v was found before anything was touched", err)
		}
	}
	if isMistake(&release.Failure{Message: "not ready"}) || untouched(nil) != nil {
		t.Error("a failed release is no mistake of settings")
	}
}
