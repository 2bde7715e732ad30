package release

import (
	"time"

	"toa.io/toa/chart"
	"toa.io/toa/orchestrator"
)

// InCluster is the name of the cluster that the process itself runs in.
const InCluster = "in-cluster"

// Target names one release in one cluster. There is no ambient one: Context is
// a context of the kubeconfig, or InCluster.
type Target struct {
	// Kubeconfig is a file, or empty: the files that kubectl would read.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context"`
	// Namespace is empty for that of the context.
	Namespace string `json:"namespace,omitempty"`
	// Name is the release's.
	Name string `json:"name"`
}

// OrderFormat is the version of Order.
const OrderFormat = "toa/order/v1"

// Order is what the child process is fed that makes the release: everything
// is decided in it. It holds no secret.
type Order struct {
	Format string `json:"format"`
	Target Target `json:"target"`
	// Chart is applied; nil for a rollback.
	Chart *chart.Chart `json:"chart,omitempty"`
	// Inputs is the key of what the release is made of; a label of the
	// release's record carries it.
	Inputs string `json:"inputs,omitempty"`
	// Rollback is the revision to go back to, negative for the one before.
	Rollback int `json:"rollback,omitempty"`
	// Deployed is the revision that must be the deployed one, or the order is
	// refused; negative where any will do, zero for none.
	Deployed int `json:"deployed"`

	// Wait waits until every workload is ready and the old pods are gone.
	Wait bool `json:"wait,omitempty"`
	// Timeout bounds the waiting; it is never zero.
	Timeout time.Duration `json:"timeout"`
	// Atomic goes back to what stood when the release does not get ready.
	Atomic bool `json:"atomic,omitempty"`
	// History is how many revisions are kept, at least one.
	History int `json:"history"`
	// CreateNamespace makes the namespace where it is missing.
	CreateNamespace bool `json:"createNamespace,omitempty"`
}

// Message is one line that the child writes: exactly one field is set. The last
// message is a Result or a Failure.
type Message struct {
	// Notice is something a person should know.
	Notice string `json:"notice,omitempty"`
	// Rollout tells how far the workloads are.
	Rollout []orchestrator.Workload `json:"rollout,omitempty"`
	// Evidence is sent before anything of a failed release is taken away.
	Evidence []string              `json:"evidence,omitempty"`
	Result   *orchestrator.Release `json:"result,omitempty"`
	Failure  *Failure              `json:"failure,omitempty"`
}

// Failure is why a release did not land.
type Failure struct {
	Message string `json:"message"`
	Advice  string `json:"hint,omitempty"`
	// Settled says how the cluster was left: "rolled back", "marked failed", …
	Settled string `json:"settled,omitempty"`
	// Evidence are events and last log lines of what did not get ready.
	Evidence []string `json:"evidence,omitempty"`
	// Configuration says that nothing was touched and the user's settings are
	// what is wrong.
	Configuration bool `json:"configuration,omitempty"`
}

func (f *Failure) Error() string {
	if f.Settled == "" {
		return f.Message
	}
	return f.Message + " (" + f.Settled + ")"
}

// Hint says how to mend it.
func (f *Failure) Hint() string { return f.Advice }

// Mistake tells whether the child has found it before it touched anything.
func (f *Failure) Mistake() bool { return f.Configuration }
