package schema

// contentsQueries answer with (schema, relation, kind, name, definition). The
// descriptions are those of pg_dump and psql, which PostgreSQL keeps the same
// for equal objects.
var contentsQueries = []string{
	`
SELECT n.nspname::text, r.relname::text, CASE r.relkind WHEN 'v' THEN 'view' ELSE 'table' END, '',
	CASE r.relkind WHEN 'v' THEN pg_catalog.pg_get_viewdef(r.oid)
		WHEN 'r' THEN 'table' ELSE 'relation of kind ' || r.relkind::text END
	|| CASE r.relpersistence WHEN 'p' THEN '' ELSE ', persistence ' || r.relpersistence::text END
	|| CASE WHEN r.relrowsecurity OR r.relforcerowsecurity THEN ', row security' ELSE '' END
	|| COALESCE((SELECT ', with ' || pg_catalog.string_agg(o, ', ' ORDER BY o) FROM pg_catalog.unnest(r.reloptions) o), '')
	|| COALESCE(', comment ' || pg_catalog.quote_literal(pg_catalog.obj_description(r.oid, 'pg_class')), '')
FROM pg_catalog.pg_class r` + wanted,
	`
SELECT n.nspname::text, r.relname::text, 'column', a.attname::text,
	pg_catalog.format_type(a.atttypid, a.atttypmod)
	|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
	|| CASE WHEN a.attgenerated <> '' THEN ' GENERATED' ELSE '' END
	|| COALESCE(' DEFAULT ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
	|| CASE a.attidentity WHEN 'a' THEN ' IDENTITY ALWAYS' WHEN 'd' THEN ' IDENTITY BY DEFAULT' ELSE '' END
	|| CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || a.attcollation::regcollation::text ELSE '' END
	|| COALESCE(' comment ' || pg_catalog.quote_literal(pg_catalog.col_description(r.oid, a.attnum)), '')
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE r.relkind <> 'v'`,
	// PostgreSQL 18 lists NOT NULL among the constraints: columns tell it.
	`
SELECT n.nspname::text, r.relname::text, 'constraint', c.conname::text, pg_catalog.pg_get_constraintdef(c.oid)
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_constraint c ON c.conrelid = r.oid AND c.contype <> 'n'`,
	`
SELECT n.nspname::text, r.relname::text, 'index', x.relname::text,
	pg_catalog.pg_get_indexdef(x.oid) || CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE ' INVALID' END
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_index i ON i.indrelid = r.oid
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid`,
	`
SELECT n.nspname::text, r.relname::text, 'identity', a.attname::text,
	s.oid::regclass::text || ' ' || q.seqtypid::regtype::text || ' start ' || q.seqstart || ' increment ' || q.seqincrement
	|| ' from ' || q.seqmin || ' to ' || q.seqmax || ' cache ' || q.seqcache || CASE WHEN q.seqcycle THEN ' cycle' ELSE '' END
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attidentity <> ''
JOIN pg_catalog.pg_depend d ON d.refobjid = r.oid AND d.refobjsubid = a.attnum AND d.deptype = 'i'
	AND d.classid = 'pg_catalog.pg_class'::regclass AND d.refclassid = 'pg_catalog.pg_class'::regclass
JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_catalog.pg_sequence q ON q.seqrelid = s.oid`,
	`
SELECT n.nspname::text, r.relname::text, 'trigger', t.tgname::text, pg_catalog.pg_get_triggerdef(t.oid)
FROM pg_catalog.pg_class r` + wanted + `
JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal`,
}
