//go:build tools

// Package gatekeeper pins the version of gator.
package gatekeeper

import _ "github.com/open-policy-agent/gatekeeper/v3/cmd/gator"
