package cluster

import (
	"errors"
	"slices"
	"testing"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// revisions makes a history of statuses, numbered from one; the manifest of
// each is its number.
func revisions(statuses ...helm.Status) history {
	var h history
	for i, status := range statuses {
		h = append(h, &helm.Release{Version: i + 1, Manifest: string(rune('1' + i)), Info: &helm.Info{Status: status}})
	}
	return h
}

func TestHistory(t *testing.T) {
	const (
		deployed, superseded = helm.StatusDeployed, helm.StatusSuperseded
		failed, uninstalled  = helm.StatusFailed, helm.StatusUninstalled
	)
	tests := map[string]struct {
		history     history
		deployed    int
		uninstalled bool
		leftovers   []string
	}{
		"nothing":          {revisions(), 0, true, nil},
		"installed":        {revisions(deployed), 1, false, nil},
		"upgraded":         {revisions(superseded, deployed), 2, false, nil},
		"failed since":     {revisions(failed, superseded, deployed, failed, failed), 3, false, []string{"5", "4"}},
		"never landed":     {revisions(failed, failed), 0, false, []string{"2", "1"}},
		"kept after all":   {revisions(superseded, uninstalled), 0, true, nil},
		"two are deployed": {revisions(deployed, deployed), 2, false, nil},
	}
	for name, test := range tests {
		deployed := 0
		if d := test.history.deployed(); d != nil {
			deployed = d.Version
		}
		if deployed != test.deployed || test.history.uninstalled() != test.uninstalled {
			t.Errorf("%s: deployed is %d, uninstalled %v, want %d, %v", name, deployed, test.history.uninstalled(), test.deployed, test.uninstalled)
		}
		if got := test.history.leftovers(); !slices.Equal(got, test.leftovers) {
			t.Errorf("%s: leftovers are %q, want %q", name, got, test.leftovers)
		}
	}
}

func TestAim(t *testing.T) {
	h := revisions(helm.StatusSuperseded, helm.StatusFailed, helm.StatusSuperseded, helm.StatusDeployed, helm.StatusFailed)
	for stated, want := range map[int]int{-1: 3, 1: 1, 2: 0, 3: 3, 4: 4, 5: 0, 6: 0} {
		got, err := h.aim(stated)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("aim(%d) = %d, %v, want %d", stated, got, err, want)
		}
		var none *NoRevisionError
		if err != nil && (!errors.As(err, &none) || none.Hint() != "there are: 1, 3, 4") {
			t.Errorf("aim(%d) = %v, want what there is", stated, err)
		}
	}
	if got, err := revisions(helm.StatusDeployed).aim(-1); err == nil {
		t.Errorf("aim of the first revision = %d, want none", got)
	}
}

func TestExpectedRevision(t *testing.T) {
	h := revisions(helm.StatusSuperseded, helm.StatusDeployed, helm.StatusFailed)
	for planned, right := range map[int]bool{-1: true, 0: false, 1: false, 2: true, 3: false} {
		err := h.expect(planned)
		if (err == nil) != right {
			t.Errorf("expect(%d) = %v", planned, err)
		}
	}
	if err := revisions().expect(0); err != nil {
		t.Errorf("expect(0) of nothing = %v", err)
	}
}

// Whatever the clocks of others say, a lease that is looked at often is stale
// exactly when it was seen unchanged for its duration.
func TestStaleByOurClockOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seen sighting
		seconds := int32(rapid.IntRange(1, 60).Draw(t, "duration"))
		duration := time.Duration(seconds) * time.Second
		l := &coordinationv1.Lease{}
		l.UID, l.Spec.LeaseDurationSeconds = "a", &seconds
		now := time.Unix(1e9, 0)
		since := now
		for i := range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(duration/beats)).Draw(t, "pause")))
			if i == 0 || rapid.IntRange(0, 20).Draw(t, "renewed") == 0 {
				l.ResourceVersion, since = l.ResourceVersion+"1", now
			}
			if rapid.IntRange(0, 40).Draw(t, "another") == 0 {
				l.UID, since = l.UID+"a", now
			}
			if got, want := seen.stale(l, now, time.Hour), now.Sub(since) > duration; got != want {
				t.Fatalf("stale = %v after %s of %s unchanged", got, now.Sub(since), duration)
			}
		}
	})
}

// One who could not look for long does not hold that against the holder, who
// may not have been able to renew either.
func TestOutageIsNotDeath(t *testing.T) {
	var seen sighting
	l := &coordinationv1.Lease{}
	l.UID, l.ResourceVersion = types.UID("a"), "1"
	now := time.Unix(1e9, 0)
	for range 3 {
		if seen.stale(l, now, leaseDuration) {
			t.Fatal("stale after an outage alone")
		}
		now = now.Add(time.Hour)
	}
	for range 2 * leaseDuration / glance {
		now = now.Add(glance)
		if seen.stale(l, now, leaseDuration) {
			return
		}
	}
	t.Error("not stale after it was seen unchanged for twice its duration")
}
