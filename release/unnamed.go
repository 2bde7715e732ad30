package release

// UnnamedError says that no cluster was named.
type UnnamedError struct{}

func (*UnnamedError) Error() string { return "no cluster is named" }

// Hint says how to name one.
func (*UnnamedError) Hint() string {
	return "name one: --kube-context NAME, or release.context in context.toa.yaml (" + InCluster + " is the one that this runs in)"
}

// Mistake is true: it is found before anything is touched.
func (*UnnamedError) Mistake() bool { return true }
