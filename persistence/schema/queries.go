package schema

// The names of schemas and relations travel as one JSON text, because the
// drivers differ in how they take arrays. Every object is qualified, so that a
// search_path of the application cannot shadow the catalogs. Built-in types are
// printed without a schema under any search_path; types of the application are
// better written with theirs.

const (
	querySchemas = `
SELECT n.nspname::text
FROM pg_catalog.pg_namespace n
WHERE n.nspname IN (SELECT pg_catalog.json_array_elements_text($1::text::json))`

	// wanted joins the relations that the model names.
	wanted = `
JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace
JOIN pg_catalog.json_to_recordset($1::text::json) AS w("Schema" text, "Name" text)
	ON w."Schema" = n.nspname AND w."Name" = r.relname`

	queryRelations = `
SELECT n.nspname::text, r.relname::text, r.relkind::text, COALESCE(pg_catalog.array_to_json(r.reloptions)::text, '[]')
FROM pg_catalog.pg_class r` + wanted

	// A generated column has an expression in pg_attrdef that is no default; it
	// is told apart by a prefix, so that it equals no default of the model.
	queryColumns = `
SELECT n.nspname::text, r.relname::text, a.attname::text,
	pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
	CASE WHEN a.attgenerated <> '' THEN 'GENERATED ' ELSE '' END
		|| COALESCE(pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''),
	a.attidentity::text
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
ORDER BY n.nspname, r.relname, a.attnum`

	queryConstraints = `
SELECT n.nspname::text, r.relname::text, c.conname::text, c.contype::text, c.convalidated, c.condeferred,
	CASE c.confdeltype WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' ELSE '' END,
	COALESCE((
		SELECT pg_catalog.json_build_object('refSchema', k.nspname, 'refTable', t.relname, 'refColumns', (
			SELECT pg_catalog.json_agg(a.attname ORDER BY f.place)
			FROM pg_catalog.unnest(c.confkey) WITH ORDINALITY AS f(attnum, place)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = f.attnum))::text
		FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace k ON k.oid = t.relnamespace
		WHERE t.oid = c.confrelid), '{}'),
	COALESCE((
		SELECT pg_catalog.json_agg(a.attname ORDER BY k.place)::text
		FROM pg_catalog.unnest(c.conkey) WITH ORDINALITY AS k(attnum, place)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.attnum), '[]')
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_constraint c ON c.conrelid = r.oid`

	// Only key columns count, not those that an index INCLUDEs; indoption bit 0
	// is DESC. A key without attnum is an expression.
	queryIndexes = `
SELECT n.nspname::text, r.relname::text, x.relname::text, i.indisunique, i.indisvalid AND i.indisready, i.indpred IS NOT NULL,
	COALESCE((
		SELECT pg_catalog.json_agg(
			COALESCE('"' || pg_catalog.replace(a.attname::text, '"', '""') || '"', 'expression')
			|| CASE WHEN i.indoption[k.place - 1] & 1 = 1 THEN ' DESC' ELSE '' END ORDER BY k.place)::text
		FROM pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
		LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum AND k.attnum > 0
		WHERE k.place <= i.indnkeyatts), '[]')
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_index i ON i.indrelid = r.oid
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid`
)
