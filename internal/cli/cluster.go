package cli

import (
	"errors"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

// clusterFlags say which cluster a command speaks to.
type clusterFlags struct{ kubeContext, namespace string }

// destination are the settings of the context with what flags say instead, and the
// release that they lead to. The cluster is always a named one.
func (g *globals) destination(environment string, f releaseFlags) (workspace.Release, release.Target, error) {
	s, err := g.open(environment)
	if err != nil {
		return workspace.Release{}, release.Target{}, err
	}
	defer s.close()
	settings := f.over(s.workspace.Context.Release)
	if _, err := g.ending(releaseApply, &settings); err != nil {
		return settings, release.Target{}, err
	}
	return settings, s.target(settings), nil
}

// openCluster opens the cluster of the release, for questions.
func (g *globals) openCluster(environment string, f clusterFlags) (*sdk.Cluster, error) {
	_, target, err := g.destination(environment, releaseFlags{kubeContext: f.kubeContext, namespace: f.namespace})
	if err != nil {
		return nil, err
	}
	return sdk.Open(target)
}

// openAnyCluster opens a cluster for what no release is needed for: without a
// workspace, flags say all.
func (g *globals) openAnyCluster(environment string, f clusterFlags) (*sdk.Cluster, error) {
	c, err := g.openCluster(environment, f)
	var missing *workspace.NotFoundError
	if errors.As(err, &missing) && f.kubeContext != "" {
		return sdk.Open(release.Target{Context: f.kubeContext, Namespace: f.namespace})
	}
	return c, err
}
