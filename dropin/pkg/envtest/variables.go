package envtest

// DefaultBinaryAssetsIndexURL is where controller-runtime looks for a control plane to download. Here
// nothing is downloaded: it's compiled.
var DefaultBinaryAssetsIndexURL = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"

// DefaultKubeAPIServerFlags is deprecated, and empty: the flags that a server has here come from
// APIServer.Configure.
var DefaultKubeAPIServerFlags []string
