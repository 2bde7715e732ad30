package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toa.io/toa/images"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

// nightlyFlags are those of a full rebuild and of one that several machines
// share.
type nightlyFlags struct {
	rebuild    bool
	audit      string
	pull       bool
	updateLock bool
	shard      string
	shards     string
	fromShards bool
	quiet      bool
	junit      string
}

func (f *nightlyFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.rebuild, "rebuild", false, "build every image anew, whatever is published or kept; published tags stay")
	flags.StringVar(&f.audit, "audit", "", "rebuild, and compare with what is published: all images, or sample:N% of them; exit with 1 where one is not what its key says")
	flags.Lookup("audit").NoOptDefVal = "all"
	flags.BoolVar(&f.pull, "pull", false, "resolve base images anew and say which have moved; toa.lock stays as it is")
	flags.BoolVar(&f.updateLock, "update-lock", false, "resolve base images anew, move them in toa.lock, and build on them")
	flags.StringVar(&f.shard, "shard", "", "build the share of one machine of several, I/N; nothing is released")
	flags.StringVar(&f.shards, "shards", "", "take the share from this file, which `toa graph plan --matrix N` has printed")
	flags.BoolVar(&f.fromShards, "from-shards", false, "build nothing: check that every image is published, and release")
	flags.BoolVar(&f.quiet, "quiet", false, "say nothing when all is well, and one screen when not")
	flags.StringVar(&f.junit, "junit", "", "write a JUnit XML report to this file")
}

// anew tells whether every image is built anew.
func (f *nightlyFlags) anew() bool { return f.rebuild || f.audit == "all" }

// checkNightly refuses what does not go together.
func (f *buildFlags) checkNightly(cmd *cobra.Command) error {
	_, sampleErr := orchestrator.ParseSample(f.audit)
	_, shardErr := orchestrator.ParseShard(f.shard)
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{f.audit != "" && sampleErr != nil, fmt.Sprintf("--audit: %v", sampleErr)},
		{f.shard != "" && shardErr != nil, fmt.Sprintf("--shard: %v", shardErr)},
		{f.shards != "" && f.shard == "", "--shards says who builds what: --shard I/N says who this is"},
		{f.shard != "" && len(f.only) > 0, "--shard and --only both say what to build: use one"},
		{f.shard != "" && (f.release == releaseApply || f.release == releasePackage), "a shard releases nothing: run --release " + f.release + " --from-shards when all have ended"},
		{f.fromShards && (f.anew() || f.audit != "" || f.shard != "" || len(f.only) > 0), "--from-shards builds nothing: leave out --rebuild, --audit, --shard and --only"},
		{f.updateLock && f.locked, "--update-lock moves toa.lock, which --locked refuses"},
		{f.quiet && (f.output == "json" || f.output == "tty"), "--quiet shows nothing, --output " + f.output + " shows all: use one"},
	} {
		if rule.broken {
			return usage(cmd, errors.New(rule.text))
		}
	}
	return nil
}

// mainSink shows the run as asked for.
func (g *globals) mainSink(f *buildFlags) (ui.Sink, error) {
	if f.quiet {
		return ui.NewQuiet(g.io.Err), nil
	}
	return ui.New(f.output, g.io.Out, g.io.Err, g.io.Env)
}

// narrow leaves in the plan what this run is to build, and has rebuilt what an
// audit takes as a sample.
func (s *session) narrow(plan *orchestrator.Plan, f *buildFlags) error {
	if len(f.only) > 0 {
		if err := plan.Restrict(f.only); err != nil {
			return err
		}
	}
	if f.shard != "" {
		images, err := s.share(plan, f)
		if err != nil {
			return err
		}
		if err := plan.Restrict(images); err != nil {
			return err
		}
	}
	if share, err := orchestrator.ParseSample(f.audit); err == nil && !f.anew() {
		plan.Sample(share)
	}
	return nil
}

// comparer tells images of a registry apart.
func comparer(f *buildFlags, registry orchestrator.Registry) orchestrator.Comparer {
	if f.audit == "" {
		return nil
	}
	switch r := registry.(type) {
	case *images.Layout:
		return &images.Comparer{Blobs: r.Blobs, Layout: r}
	case *images.Remote:
		return &images.Comparer{Blobs: r.Blobs, Client: r.Client}
	default:
		panic(fmt.Sprintf("cli: registry %T has nothing to compare with", r))
	}
}

// pullBases resolves base images anew and says which have moved. Images stand on
// what the lock pins: one that is built on another base has another key, which
// nobody could make again from what is committed.
func (s *session) pullBases(ctx context.Context, f *buildFlags) error {
	if !f.pull && !f.updateLock {
		return nil
	}
	next, err := s.lookUp(ctx, s.planner().Pins())
	if err != nil {
		return err
	}
	for _, m := range s.lock.Moves(next) {
		text := "base image " + moveText(m)
		if !f.updateLock {
			text += "; " + workspace.LockFile + " keeps the old one, --update-lock moves it"
		}
		s.notice(text)
	}
	if !f.updateLock {
		return nil
	}
	return s.writeLock(next)
}
