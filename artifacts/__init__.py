"""The store: content-addressed Parquet tables, the reply cache, the manifest."""
