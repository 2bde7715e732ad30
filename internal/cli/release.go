package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/images"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// What a run ends with: the values of --release.
const (
	releaseAuto    = "auto"
	releaseApply   = "apply"
	releasePackage = "package"
	releaseNone    = "none"
)

// releaseFlags say where a release goes and how.
type releaseFlags struct {
	kubeContext     string
	namespace       string
	createNamespace bool
	wait            bool
	timeout         time.Duration
	atomic          bool
}

func (f *releaseFlags) add(flags *pflag.FlagSet) {
	addClusterFlags(flags, &f.kubeContext, &f.namespace)
	flags.BoolVar(&f.createNamespace, "create-namespace", false, "make the namespace where it is missing")
	flags.BoolVarP(&f.wait, "wait", "w", false, "the release is done when its pods are ready and the old ones are gone")
	flags.DurationVarP(&f.timeout, "timeout", "t", 0, "how long a release may take, for instance 10m (default: release.timeout, or 5m)")
	flags.BoolVar(&f.atomic, "atomic", false, "go back to what stood where the release fails")
}

// addClusterFlags adds those that say where.
func addClusterFlags(flags *pflag.FlagSet, kubeContext, namespace *string) {
	flags.StringVar(kubeContext, "kube-context", "", "kubeconfig context of the cluster, or "+release.InCluster+" (default: release.context)")
	flags.StringVarP(namespace, "namespace", "n", "", "namespace of the release (default: release.namespace, or that of the context)")
}

// over are the settings of a context with what the flags say instead.
func (f *releaseFlags) over(settings workspace.Release) workspace.Release {
	settings.Context = cmp.Or(f.kubeContext, settings.Context)
	settings.Namespace = cmp.Or(f.namespace, settings.Namespace)
	settings.Timeout = cmp.Or(f.timeout, settings.Timeout)
	settings.Wait = f.wait || settings.Wait
	settings.Atomic = f.atomic || settings.Atomic
	return settings
}

// ending decides what a run ends with, and names the cluster where it is the one
// that this process runs in. There is no ambient cluster besides: "auto" applies
// where one is named.
func (g *globals) ending(kind string, settings *workspace.Release) (string, error) {
	switch {
	case kind == releaseAuto && settings.Context == "":
		return releasePackage, nil
	case kind == releaseAuto:
		return releaseApply, nil
	case kind == releaseApply && settings.Context == "":
		if g.io.Env("KUBERNETES_SERVICE_HOST") == "" {
			return "", &release.UnnamedError{}
		}
		settings.Context = release.InCluster
	}
	return kind, nil
}

// delivery is the release that the run ends with; nil means none.
func (s *session) delivery(f *buildFlags, registry orchestrator.Registry, observe orchestrator.Observe) (*orchestrator.Delivery, error) {
	if f.release == releaseNone || len(f.only) > 0 || f.shard != "" {
		return nil, nil
	}
	if err := chart.Check(s.workspace); err != nil {
		return nil, err
	}
	settings := f.over(s.workspace.Context.Release)
	ending, err := s.ending(f.release, &settings)
	if err != nil {
		return nil, err
	}
	inputs, err := s.chartInputs()
	if err != nil {
		return nil, err
	}
	d := &orchestrator.Delivery{Inputs: inputs, Chart: s.chart}
	if ending == releasePackage {
		d.Releaser, err = s.packager(settings, registry)
		return d, err
	}
	if d.Releaser, err = s.releaser(f, settings, observe); err != nil {
		return nil, err
	}
	if remote, ok := registry.(*images.Remote); ok {
		d.Tagger, d.Tag = &environmentTags{Remote: remote, files: s.files}, orchestrator.EnvironmentTag(s.chain)
	}
	return d, nil
}

// releaser makes the release in a cluster.
func (s *session) releaser(f *buildFlags, settings workspace.Release, observe orchestrator.Observe) (*sdk.Releaser, error) {
	if err := sdk.Needed(); err != nil {
		return nil, err
	}
	r := &sdk.Releaser{
		Target:          s.target(settings),
		Settings:        settings,
		CreateNamespace: f.createNamespace,
		Observe:         observe,
	}
	if f.saved != nil && f.saved.Release != nil {
		r.Deployed = &f.saved.Release.Deployed
	}
	return r, nil
}

// target is the release of this context in the cluster that is named.
func (s *session) target(settings workspace.Release) release.Target {
	return release.Target{Context: settings.Context, Namespace: settings.Namespace, Name: chart.Name(s.workspace.Context.Name)}
}

// packager leaves the release at a package, which it publishes where a registry
// is named for that.
func (s *session) packager(settings workspace.Release, registry orchestrator.Registry) (*release.Packager, error) {
	p := &release.Packager{Dir: s.chartDir(s.workspace.Context.Name), Settings: settings}
	if settings.Registry == "" {
		return p, nil
	}
	remote, ok := registry.(*images.Remote)
	if !ok {
		blobs, err := cache.OpenBlobs(s.cache)
		if err != nil {
			return nil, err
		}
		remote = &images.Remote{Client: s.client(), Blobs: blobs}
	}
	p.Publish = func(ctx context.Context, made release.Package) (orchestrator.Reference, error) {
		return remote.PublishChart(ctx, settings.Registry, images.Chart(made))
	}
	return p, nil
}

// chartDir keeps packages of workspaces and environments apart.
func (s *session) chartDir(context string) string {
	h := cache.NewHasher("toa/chart-dir/v1")
	h.Field("root", s.root)
	h.Field("environment", s.chain)
	return filepath.Join(s.cache, chartsDir, context+"-"+h.Sum().Tag()[:8])
}

// chartInputs is the key of all that the chart is made of besides images and
// versions: the context, the environment and the chart's own templates. What
// manifests declare is in the versions or in the images.
func (s *session) chartInputs() (cache.Key, error) {
	context, err := s.files.Digest(workspace.ContextFile)
	if err != nil {
		return cache.Key{}, err
	}
	h := cache.NewHasher("toa/chart/v1")
	h.Key("context", context)
	h.Field("environment", s.chain)
	h.Field("templates", chart.Source())
	h.Field("version", buildVersion())
	if s.mono {
		h.Field("mono", "")
	}
	if err := s.hashInstalled(h); err != nil {
		return cache.Key{}, err
	}
	return h.Sum(), nil
}

// checkDelivery finds what would keep the release from landing before anything
// is built. A release that stands as it would be made is not looked at.
func (s *session) checkDelivery(ctx context.Context, delivery *orchestrator.Delivery, plan *orchestrator.Plan) error {
	if delivery == nil {
		return nil
	}
	if current, err := delivery.Current(ctx, plan); err != nil || current {
		return err
	}
	if _, err := s.declare(ctx); err != nil {
		return err
	}
	return untouched(delivery.Check(ctx, plan))
}

// untouched marks what was found wrong before anything was touched. A server
// that does not answer has said nothing about the user's settings.
func untouched(err error) error {
	var silent *sdk.UnreachableError
	if err == nil || errors.As(err, &silent) {
		return err
	}
	return &configurationError{err}
}

func (s *session) chart(references map[graph.ID]orchestrator.Reference, versions map[string]string) (*chart.Chart, error) {
	in := chart.Input{Workspace: s.workspace, Deployment: s.deployment, References: map[graph.ID]string{}, Versions: versions}
	for id, reference := range references {
		in.References[id] = reference.String()
	}
	return chart.New(in)
}
