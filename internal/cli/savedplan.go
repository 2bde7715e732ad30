package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"toa.io/toa/images"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// savePlan is a plan with the release that it ends with, to be put aside.
func (s *session) savePlan(ctx context.Context, plan *orchestrator.Plan, delivery *orchestrator.Delivery) (orchestrator.Saved, error) {
	saved := orchestrator.Save(plan)
	saved.Environment, saved.Mono = s.chain, s.mono
	if delivery == nil {
		return saved, nil
	}
	if _, err := s.declare(ctx); err != nil {
		return saved, err
	}
	made, err := delivery.Planned(plan)
	if err != nil {
		return saved, err
	}
	if saved.Release, err = s.saveRelease(ctx, delivery); err != nil {
		return saved, err
	}
	rendered, err := sdk.Render(made, saved.Release.Namespace)
	if err != nil {
		return saved, err
	}
	saved.Release.Name, saved.Release.Manifests = made.Name, rendered.Manifest
	return saved, nil
}

// saveRelease says where the release goes, and what stands there.
func (s *session) saveRelease(ctx context.Context, delivery *orchestrator.Delivery) (*orchestrator.SavedRelease, error) {
	saved := &orchestrator.SavedRelease{Kind: releasePackage, Deployed: -1, Inputs: delivery.Inputs.String()}
	switch r := delivery.Releaser.(type) {
	case *release.Packager:
		saved.Namespace = r.Settings.Namespace
	case *sdk.Releaser:
		standing, _, err := r.Current(ctx, delivery.Inputs)
		if err != nil {
			return nil, err
		}
		saved.Kind, saved.Cluster = releaseApply, r.Target.Context
		saved.Server, saved.Namespace, saved.Deployed = standing.Server, standing.Namespace, standing.Revision
	}
	return saved, nil
}

// checkSaved refuses a saved plan that no longer is what would be done.
func (s *session) checkSaved(ctx context.Context, f *buildFlags, plan *orchestrator.Plan, delivery *orchestrator.Delivery) error {
	if f.saved == nil {
		return nil
	}
	now, err := s.savePlan(ctx, plan, delivery)
	if err != nil {
		return err
	}
	moved := f.saved.Moved(now)
	if len(moved) == 0 {
		return nil
	}
	if was, is := f.saved.Release, now.Release; was != nil && is != nil && was.Inputs != is.Inputs {
		objects, err := sdk.DiffManifests(was.Manifests, is.Manifests)
		if err != nil {
			return err
		}
		for _, o := range objects {
			moved = append(moved, o.Kind+" "+o.Name+" of the release")
		}
	}
	return &orchestrator.MovedError{Moved: moved}
}

func graphApply(g *globals) *cobra.Command {
	f := &buildFlags{release: releaseAuto}
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Carry out a saved plan as it stands, or release a package",
		Long: `Apply takes what ` + "`toa graph plan -o FILE`" + ` saved. Where an input of an image, the
release or the revision that is deployed has moved since, it does nothing and names
what moved; else it builds, publishes and releases just that.

It also takes the package of a chart, as a file or as oci://REGISTRY/NAME:VERSION,
and releases it to the cluster that --kube-context names. No workspace is needed
for that.`,
		Example: `  toa graph plan production --diff -o plan.json
  toa graph apply plan.json
  toa graph apply shop-1.2.0.tgz --kube-context prod -n shop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return g.apply(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	f.releaseFlags.add(flags)
	f.addRunFlags(flags)
	return cmd
}

// apply tells by what a file holds what is to be done with it.
func (g *globals) apply(cmd *cobra.Command, path string, f *buildFlags) error {
	if strings.HasPrefix(path, images.ChartScheme) {
		return g.applyPublished(cmd, path, f)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usage(cmd, fmt.Errorf("there is no %s", path))
	}
	if err != nil {
		return &configurationError{err}
	}
	if bytes.HasPrefix(data, []byte(gzipMagic)) {
		return g.applyPackage(cmd, data, f)
	}
	saved, err := orchestrator.ParseSaved(data)
	if err != nil {
		return err
	}
	return g.applyPlan(cmd, saved, f)
}

// applyPlan builds with the flags that the plan was made with.
func (g *globals) applyPlan(cmd *cobra.Command, saved orchestrator.Saved, f *buildFlags) error {
	if f.kubeContext != "" || f.namespace != "" {
		return usage(cmd, errors.New("a plan says where its release goes: --kube-context and --namespace are for packages"))
	}
	f.saved = &saved
	f.registry, f.mono, f.locked, f.release = saved.Registry, saved.Mono, true, releaseNone
	if saved.Release != nil {
		f.release = saved.Release.Kind
		f.kubeContext, f.namespace = saved.Release.Cluster, saved.Release.Namespace
	}
	return g.build(cmd, saved.Environment, f)
}
