// Package failpoint names the moments between two durable steps, at which tests
// make a run fail. Ordinary binaries hold nothing of it: At is an empty function
// that the compiler drops. With the build tag "failpoint" At does what the
// environment says; see Variable.
//
// Whoever uses it may rely on this: a point is at one place in the code, a run
// that publishes and releases something comes by each (a test looks), and what
// At returns is an error like any other of the step it stands at.
package failpoint

// Name is a point.
type Name string

// What a file hashes to, and what is known of files.
const (
	// TreeHashed is when the files of a directory are hashed and none is packed.
	TreeHashed Name = "tree.hashed"
	// StampsSave is before what files hash to is written to its database.
	StampsSave Name = "stamps.save"
	// StampsSaved is when it is there.
	StampsSaved Name = "stamps.saved"
	// DatabaseLink is when a new database is whole under a temporary name.
	DatabaseLink Name = "database.link"
	// DatabaseRename is when a database that is written anew, without what is not
	// kept, is whole under a temporary name.
	DatabaseRename Name = "database.rename"
	// DatabaseRenamed is when it has taken the place of the old one.
	DatabaseRenamed Name = "database.renamed"
)

// The making of an image.
const (
	// ClaimTaken is when no other process of the machine makes the same image.
	ClaimTaken Name = "claim.taken"
	// ClaimRelease is before others may; the image is made and recorded, or failed.
	ClaimRelease Name = "claim.release"
	// PackagesInstalled is when npm has installed packages, and none is packed.
	PackagesInstalled Name = "packages.installed"
	// BlobRename is when content of the cache is whole under a temporary name: a
	// layer, what is known of one, a manifest, a config.
	BlobRename Name = "blob.rename"
	// BlobRenamed is when it has its name.
	BlobRenamed Name = "blob.renamed"
	// LayerPacked is when a layer is kept, and not known by its key yet.
	LayerPacked Name = "layer.packed"
	// ImageBuilt is when an image is made and nothing of it is published.
	ImageBuilt Name = "image.built"
)

// The publishing of an image, of a shard of the shared index too.
const (
	// BlobUpload is before a blob is sent or mounted.
	BlobUpload Name = "blob.upload"
	// BlobUploaded is when the registry has said that it has it.
	BlobUploaded Name = "blob.uploaded"
	// ManifestPut is before a manifest is sent, with all of its blobs there.
	ManifestPut Name = "manifest.put"
	// ManifestStored is when the registry has taken it, which is to be verified.
	ManifestStored Name = "manifest.stored"
	// ManifestVerified is when it is verified, and so is the tag where it has one.
	ManifestVerified Name = "manifest.verified"
	// LayoutRename is when a file of an image layout on disk is whole under a
	// temporary name: a blob that is no layer, or the list of tags.
	LayoutRename Name = "layout.rename"
	// LayoutRenamed is when it has its name.
	LayoutRenamed Name = "layout.renamed"
	// ImagePublished is when an image is published and not recorded.
	ImagePublished Name = "image.published"
)

// The recording of an image, here and for other machines.
const (
	// IndexCommit is before rows of the index are written.
	IndexCommit Name = "index.commit"
	// IndexWritten is when they are in a transaction that has not ended.
	IndexWritten Name = "index.written"
	// IndexCommitted is when they are durable.
	IndexCommitted Name = "index.committed"
	// SpoolRename is when rows that are to wait beside the index, because it cannot be
	// locked, are whole under a temporary name.
	SpoolRename Name = "spool.rename"
	// SpoolRenamed is when they have their name.
	SpoolRenamed Name = "spool.renamed"
	// SpoolMerged is when rows that waited are in the index, and beside it still.
	SpoolMerged Name = "spool.merged"
	// SharedPut is before the shards of the shared index are sent.
	SharedPut Name = "shared.put"
	// SharedStored is when the shared index names them.
	SharedStored Name = "shared.stored"
)

// Files of the workspace, and the release.
const (
	// FileRename is when a file of the workspace, such as toa.lock, is whole under a
	// temporary name.
	FileRename Name = "file.rename"
	// FileRenamed is when it has its name.
	FileRenamed Name = "file.renamed"
	// ChartRename is when a package, or the note of it, is whole under a temporary
	// name.
	ChartRename Name = "chart.rename"
	// ChartRenamed is when it has its name.
	ChartRenamed Name = "chart.renamed"
	// LeaseTaken is when a release in a cluster is this run's, and untouched.
	LeaseTaken Name = "lease.taken"
	// RecordCreate is before Helm's record of a new revision is made.
	RecordCreate Name = "record.create"
	// ObjectWrite is before objects are made, changed or deleted.
	ObjectWrite Name = "object.write"
	// RecordUpdate is before a record is changed: the revision is deployed, or failed,
	// and the one of before is superseded.
	RecordUpdate Name = "record.update"
	// HelmApplied is when Helm has installed or upgraded.
	HelmApplied Name = "helm.applied"
	// TagMove is before the tag of an environment is moved to an image.
	TagMove Name = "tag.move"
	// TagMoved is when it is verified there.
	TagMoved Name = "tag.moved"
)

// All lists the points in the order in which a run comes by them first, roughly.
func All() []Name {
	return []Name{
		TreeHashed, FileRename, FileRenamed, ClaimTaken, PackagesInstalled, BlobRename, BlobRenamed, LayerPacked, ImageBuilt,
		BlobUpload, BlobUploaded, ManifestPut, ManifestStored, ManifestVerified, LayoutRename, LayoutRenamed,
		ImagePublished, DatabaseLink, IndexCommit, IndexWritten, IndexCommitted, SpoolRename, SpoolRenamed, SpoolMerged, ClaimRelease,
		SharedPut, SharedStored, ChartRename, ChartRenamed,
		LeaseTaken, RecordCreate, ObjectWrite, RecordUpdate, HelmApplied, TagMove, TagMoved,
		DatabaseRename, DatabaseRenamed, StampsSave, StampsSaved,
	}
}
