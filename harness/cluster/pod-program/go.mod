module kube-proxy-wrapper.test/cluster

go 1.26.0
