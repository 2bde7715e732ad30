package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// standing is what a build that found nothing to do leaves for the next one. If
// no file has changed since and the index holds the same images, that one need
// not read the workspace: it comes to the same end (decision 26).
type standing struct {
	Plan orchestrator.Standing `json:"plan"`
	// Release are the settings of the package that it ended with, nil for none.
	Release *workspace.Release `json:"release,omitempty"`
	Notices []string           `json:"notices,omitempty"`
}

// stands tells whether the run is one of those that are repeated: it asks no
// registry, is of the whole workspace, and makes nothing anew.
func (s *session) stands(f *buildFlags, trust orchestrator.Trust) bool {
	return trust.Offline() && s.staged == nil && f.saved == nil && !f.local && !f.anew() && !f.pull && !f.updateLock &&
		!f.fromShards && f.audit == "" && f.shard == "" && len(f.only) == 0
}

// standingName is of all that such a run depends on besides files of the
// workspace: the program, the environment and the flags.
func (s *session) standingName(f *buildFlags) string {
	h := cache.NewHasher("toa/standing/v1")
	h.Field("version", buildVersion())
	h.Field("program", program())
	h.Field("environment", s.chain)
	h.Field("registry", f.registry)
	h.Field("epoch", s.io.Env("SOURCE_DATE_EPOCH"))
	h.Field("engine", s.io.Env("BUILDKIT_HOST"))
	h.Field("release", fmt.Sprintf("%s %+v", f.release, f.releaseFlags))
	h.Field("builder", fmt.Sprintf("%q %q", f.builder, f.builderAddress))
	h.Field("units", fmt.Sprint(f.mono, f.locked))
	return h.Sum().Tag()
}

// program tells builds of toa apart that carry no version of a release.
func program() string {
	if version != "" {
		return ""
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// repeat carries out what stands, if something does.
func (s *session) repeat(ctx context.Context, f *buildFlags, trust orchestrator.Trust, sink ui.Sink) (orchestrator.Summary, bool) {
	if !s.stands(f, trust) {
		return orchestrator.Summary{}, false
	}
	var before standing
	if json.Unmarshal(s.files.Standing(s.standingName(f)), &before) != nil {
		return orchestrator.Summary{}, false
	}
	plan, ok := before.Plan.Plan(s.index)
	if !ok {
		return orchestrator.Summary{}, false
	}
	o := orchestrator.Orchestrator{Index: s.index, Registry: &images.Remote{Client: &images.Client{}}, Observe: sink.Observe, Trust: trust}
	if before.Release != nil {
		o.Release = &orchestrator.Delivery{Releaser: &release.Packager{Dir: s.chartDir(plan.Context), Settings: *before.Release}}
		if current, err := o.Release.Current(ctx, plan); err != nil || !current {
			return orchestrator.Summary{}, false
		}
	}
	for _, text := range before.Notices {
		sink.Observe(orchestrator.NoticeEvent{Text: text})
	}
	return o.Build(ctx, plan), true
}

// keepStanding leaves the plan of a run that had nothing to do to the next one.
func (s *session) keepStanding(f *buildFlags, o orchestrator.Orchestrator, plan *orchestrator.Plan, summary orchestrator.Summary) {
	idle := summary.OK && summary.Cached == summary.Total && summary.RegistryRequests == 0
	if !idle || s.askedForeign || !s.stands(f, o.Trust) {
		return
	}
	after := standing{Plan: orchestrator.Stand(plan, o.Release)}
	if o.Release != nil {
		packager, ok := o.Release.Releaser.(*release.Packager)
		if !ok {
			return // a cluster is asked
		}
		after.Release = &packager.Settings
	}
	for _, n := range s.workspace.Notices {
		after.Notices = append(after.Notices, noticeText(n))
	}
	if data, err := json.Marshal(after); err == nil {
		s.files.Stand(s.standingName(f), data)
	}
}
