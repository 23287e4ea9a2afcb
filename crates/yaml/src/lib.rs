//! YAML and JSON documents as located trees, within limits.
